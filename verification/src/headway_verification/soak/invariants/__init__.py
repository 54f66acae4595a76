"""What must hold of a queue, after each call and at the end of a run: one module for each subject."""
