pos(last([a, b, c], c)).
pos(last([b], b)).
neg(last([a, b], a)).
