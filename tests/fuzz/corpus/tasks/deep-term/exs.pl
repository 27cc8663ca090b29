pos(q(a)).
