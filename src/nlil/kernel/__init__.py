"""What a rule means: facts as a graph, bodies, hidden facts, who holds, and what that is worth."""
