head_pred(r,2).
body_pred(p,2).
max_vars(1.5).
