"""The questions that are put to AWS, each once: I/O without a verdict. `everything` asks them all."""
