uncle(X, Y) :- uncle(X, Z1), mother(Z2, Z1), mother(Z2, Y), Z1 \= X, Z2 \= X, Y \= X, Z2 \= Z1, Y \= Z1, Y \= Z2.
uncle(X, Y) :- uncle(X, Z1), father(Z2, Z1), father(Z2, Y), Z1 \= X, Z2 \= X, Y \= X, Z2 \= Z1, Y \= Z1, Y \= Z2.
uncle(X, Y) :- uncle(X, Z1), sister(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- brother(X, Z1), daughter(Z2, Z1), sister(Z2, Y), Z1 \= X, Z2 \= X, Y \= X, Z2 \= Z1, Y \= Z1, Y \= Z2.
uncle(X, Y) :- (male(X), niece(Z1, X), sister(Z1, Y)), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- brother(X, Z1), mother(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
