"""The commands, each a function with the parsed arguments."""
