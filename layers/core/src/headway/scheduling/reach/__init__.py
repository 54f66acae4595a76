"""How much of each queue a decision has to see: enough that what it does not see could not start or preempt."""
