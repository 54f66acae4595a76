"""What would make a job faster or cheaper, on which figures does that rest, and how sure is it?

Imported by the client, which reads the figures with the caller's credentials. Pure: no rule reads anything by itself.
"""

from headway.advice.advise import advise
from headway.advice.figures import Host, JobFigures
from headway.advice.outcome import Advice, Confidence, Option, Report

__all__ = ["Advice", "Confidence", "Host", "JobFigures", "Option", "Report", "advise"]
