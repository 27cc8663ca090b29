p(a, b).
