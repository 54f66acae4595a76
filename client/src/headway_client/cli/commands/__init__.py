"""What each command of the command line does, one function each, taking the parsed arguments."""
