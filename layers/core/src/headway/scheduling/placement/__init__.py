"""How can a job get its instances, and what does it change if it gets them?

A placement is tried and granted as one value: :mod:`~headway.scheduling.placement.trying` finds it and changes nothing,
and :mod:`~headway.scheduling.placement.commit` carries it out. What is found in its place is an obstacle, and the
reasons of jobs that wait are made of obstacles (decision 113).
"""
