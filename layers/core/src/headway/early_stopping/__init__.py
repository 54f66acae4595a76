"""Which member of an array is so much worse than the others that it need not run to its end?

Pure. The median rule compares a member with what others had reached at the same step.
"""

from headway.early_stopping.curve import Curve
from headway.early_stopping.median_rule import Goal, MedianRule, Verdict, judge
from headway.early_stopping.settings import MAX_COMPARED, EarlyStopping, InvalidEarlyStopping

__all__ = [
    "MAX_COMPARED",
    "Curve",
    "EarlyStopping",
    "Goal",
    "InvalidEarlyStopping",
    "MedianRule",
    "Verdict",
    "judge",
]
