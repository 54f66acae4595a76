"""Which situations are tried, and at which points each is disturbed. The removal of safeguards imports it."""
