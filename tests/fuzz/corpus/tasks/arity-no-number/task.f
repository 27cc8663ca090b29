r(a, b).
