"""What does the configuration document contain?

Runs on a laptop: no AWS, no Powertools. Everything above may import it.
"""
