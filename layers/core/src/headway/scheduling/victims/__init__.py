"""Which attempts may be stopped for a waiting job, and which of them are: a sufficient set, fair to who borrows."""
