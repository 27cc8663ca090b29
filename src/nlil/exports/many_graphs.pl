'nlil:head'(Head, G, Same_graph) :- Head =.. [_ | Arguments], 'nlil:same_graph'(Arguments, G, Same_graph).
'nlil:body'([], _, _, true).
'nlil:body'([Z | Zs], Head, G, Same_graph) :-
    'nlil:body'(Zs, Head, G, Others),
    (   member(X, Head), X == Z -> Same_graph = Others ; Same_graph = ('nlil:graph'(Z, G), Others) ).
'nlil:same_graph'([], _, true).
'nlil:same_graph'([X | Xs], G, ('nlil:graph'(X, G), Others)) :- 'nlil:same_graph'(Xs, G, Others).
