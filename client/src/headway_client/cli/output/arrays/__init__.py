"""How are arrays shown: among other jobs, with the results of their members, and as points?"""
