"""The names of the members of an array."""

from __future__ import annotations

import re

from headway.sweeps.limits import MAX_MEMBERS

# A name of SageMaker has no underscore ("Pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}": API reference, TrainingJobName),
# so no other job is named so.
_MEMBER = re.compile(rf"([a-zA-Z0-9][a-zA-Z0-9-]{{0,62}})_([0-9]{{1,{len(str(MAX_MEMBERS - 1))}}})", re.ASCII)


def member_name(array: str, index: int, count: int) -> str:
    """The name of a member: that of the array, an underscore and the index, as wide as the largest one.

    Args:
        array: the name of the array.
        index: of the member, from 0.
        count: how many members the array has.

    Raises:
        IndexError: there is no such member.
    """
    if not 0 <= index < count:
        raise IndexError(f"there is no member {index} of {count}")
    return f"{array}_{index:0{len(str(count - 1))}}"


def parse_member(name: str) -> tuple[str, int] | None:
    """Return the array and the index that a name says, padded or not; None if it is no name of a member.

    Whether the array has such a member is not checked.
    """
    found = _MEMBER.fullmatch(name)
    return (found[1], int(found[2])) if found else None
