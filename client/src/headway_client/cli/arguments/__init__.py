"""What is written on the command line: types, files, filters, and the changes of a request."""
