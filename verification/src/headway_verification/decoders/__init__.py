"""A fuzz of every decoder of what others wrote: bodies, files, archives, tokens, events, answers of AWS, saved state.

Each decoder is a row of a table with its inputs and the errors that it may raise. An input is bytes, so that any of
them can be saved, cut down and played again. Whatever else a decoder raises is a crash; what takes too long is a hang.
What is stored is decoded by the real handlers, and then by a tick and all other functions, which have to serve others.
"""
