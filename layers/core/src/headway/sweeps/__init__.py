"""Which hyperparameters does each member of an array get, and what is it called?

Pure. A sweep describes the members of an array, up to `MAX_MEMBERS`; each is computed alone.
"""

from headway.sweeps.limits import MAX_MEMBERS
from headway.sweeps.member_names import member_name, parse_member
from headway.sweeps.problems import InvalidSweep, Problem
from headway.sweeps.sweep import Sweep

__all__ = ["MAX_MEMBERS", "InvalidSweep", "Problem", "Sweep", "member_name", "parse_member"]
