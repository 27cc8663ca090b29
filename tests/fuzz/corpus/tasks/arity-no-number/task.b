:- modeh(*, r(+n, +n)).
:- modeb(*, p(+n, -n)).
:- determination(r/2, p/21e999).
p(a, b).
