"""What is lost when an attempt is stopped, and when less would be lost."""
