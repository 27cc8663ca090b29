:- dynamic 'nlil:reading'/0.
:- multifile 'nlil:denial'/2.
:- discontiguous 'nlil:denial'/2, 'nlil:entity'/1, 'nlil:graph'/2.
'nlil:rules'(File) :-
    style_check(-singleton),
    setup_call_cleanup(assertz('nlil:reading'), load_files(File, [encoding(utf8)]), retractall('nlil:reading')).

term_expansion((:- Ruled_out, By), 'nlil:denial'(Ruled_out, By)) :- 'nlil:reading'.
term_expansion((Head :- Body), [(:- table(P)), (:- multifile(P)), (:- discontiguous(P)), (Head :- Guarded)]) :-
    'nlil:reading',
    functor(Head, Name, Arity), P = Name/Arity,
    term_variables(Head, Variables),
    'nlil:entities'(Variables, Entities),
    'nlil:guarded'(Body, Variables-Graph, Inner),
    'nlil:head'(Head, Graph, Same_graph),
    Guarded = (Same_graph, Inner, Entities).

'nlil:guarded'((A, B), V, (C, D)) :- !, 'nlil:guarded'(A, V, C), 'nlil:guarded'(B, V, D).
'nlil:guarded'((A ; B), V, (C ; D)) :- !, 'nlil:guarded'(A, V, C), 'nlil:guarded'(B, V, D).
'nlil:guarded'(\+ A, V-G, (Entities, \+ B)) :- !, 'nlil:guarded'(A, V-G, B), 'nlil:entities'(V, Entities).
'nlil:guarded'(true, _, true) :- !.
'nlil:guarded'(A = B, _, A = B) :- !.
'nlil:guarded'(A \= B, _, A \= B) :- !.
'nlil:guarded'(Atom, V-G, (Atom, Same_graph)) :- term_variables(Atom, Own), 'nlil:body'(Own, V, G, Same_graph).

'nlil:entities'([], true).
'nlil:entities'([V | Vs], ('nlil:entity'(V), Entities)) :- 'nlil:entities'(Vs, Entities).

% A predicate of the data may be called like a built-in, such as write/2; here it is that of the data.
'nlil:redefine'(Head) :- predicate_property(Head, built_in), !, redefine_system_predicate(Head).
'nlil:redefine'(_).
