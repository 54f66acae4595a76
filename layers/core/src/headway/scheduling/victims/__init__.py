"""Which attempts are stopped for a waiting job, of those that may be: a sufficient set, fair to those who borrow."""
