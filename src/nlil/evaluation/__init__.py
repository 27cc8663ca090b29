"""How good, and what follows: ranks, metrics, predictions. May import: kernel and the rooms before."""
