"""`nlil bench`: one command for each table."""
