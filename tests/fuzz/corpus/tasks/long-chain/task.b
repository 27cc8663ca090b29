:- modeh(*, reach(+node, +node)).
:- modeb(*, path(+node, -node)).
:- determination(reach/2, path/2).
:- set(clauselength, 4).
path(a, b). path(b, c).
