uncle(X, Y) :- brother(X, Z1), mother(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- nephew(Z1, X), brother(Z1, Y), X \= Z1, Y \= Z1, Y \= X.
uncle(X, Y) :- son(X, Z1), grandfather(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- niece(Z1, X), sister(Z1, Y), X \= Z1, Y \= Z1, Y \= X.
uncle(X, Y) :- uncle(X, Z1), sister(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
uncle(X, Y) :- nephew(Y, X), X \= Y.
:- uncle(X, Y), father(X, Y).
:- uncle(X, Y), son(Y, X).
:- uncle(X, Y), grandfather(X, Y).
