"""What must go on while SageMaker refuses some launches for hours: one module for each promise."""
