"""What does the configuration document say?

Runs on a laptop: no AWS, no Powertools. Everything above may import it.
"""
