uncle(X, Y) :- uncle(X, Z1), sister(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- brother(X, Z1), mother(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- uncle(X, Z1), brother(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- brother(X, Z1), daughter(Y, Z1), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- uncle(X, Z1), sister(Y, Z1), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- brother(X, Z1), son(Y, Z1), Z1 \= X, Y \= X, Y \= Z1.
:- uncle(X, Y), father(X, Y).
:- uncle(X, Y), son(Y, X).
:- uncle(X, Y), grandfather(X, Y).
