pos(r(a, b)).
