"""What users may create many of: whether each tick decides all the same, and how long it takes."""
