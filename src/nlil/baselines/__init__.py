"""Other people's methods, written by us on our engine, to be measured beside ours."""
