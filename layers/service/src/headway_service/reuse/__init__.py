"""Has an equal job computed the same? A digest of all that matters for a result, and the job that has computed it."""
