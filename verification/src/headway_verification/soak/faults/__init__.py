"""Which faults occur in a run, and how each adapter injects them. The simulated deployment imports it."""
