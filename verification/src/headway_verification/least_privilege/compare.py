"""Compares grants with recorded calls: calls without a grant, and grants without a call."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import NamedTuple

from headway_sandbox.call_recorder import Call, Decision, Run, common_prefix
from headway_verification.least_privilege.exceptions import REFUSED_ON_PURPOSE, Reason
from headway_verification.least_privilege.grants import Grant


class Fault(StrEnum):
    """A finding about a policy, or about the reason of an exception."""

    MISSING = "missing"
    UNUSED = "unused"
    TOO_WIDE = "too wide"
    NEEDLESS_REASON = "unneeded reason"
    INCOMPLETE = "incomplete"


class Finding(NamedTuple):
    fault: Fault
    role: str
    action: str
    resource: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.fault}: {self.role} {self.action} on {self.resource}: {self.sentence}"


@dataclass
class Use:
    """How a grant was used."""

    count: int = 0
    #: How many runs of which kind used it.
    runs: Counter[str] = field(default_factory=Counter)
    reason: Reason | None = None


@dataclass
class Proof:
    uses: dict[Grant, Use]
    findings: list[Finding]


def prove(grants: Sequence[Grant], runs: Sequence[Run], reasons: Sequence[Reason]) -> Proof:
    """Compare the grants with the recorded calls.

    Args:
        grants: of all functions' roles.
        runs: the recordings.
        reasons: for what no run can use.
    """
    uses = {grant: Use(reason=next((each for each in reasons if each.covers(grant)), None)) for grant in grants}
    findings = [*_count(uses, runs), *_incomplete(runs)]
    needed = {use.reason for use in uses.values() if not use.count}
    findings += [_needless(reason) for reason in reasons if reason not in needed]
    findings += [_unused(grant) for grant, use in uses.items() if not use.count and use.reason is None]
    findings += _too_wide(uses, runs)
    return Proof(uses, findings)


def role_of(name: str, roles: Iterable[str]) -> str | None:
    """The template's role that a role in an account was made from: `STACK-LOGICALID-SUFFIX` is its name there.

    Source: CloudFormation user guide, "Name type".
    """
    return next((role for role in roles if name == role or f"-{role}-" in name), None)


def _count(uses: dict[Grant, Use], runs: Sequence[Run]) -> Iterator[Finding]:
    roles = sorted({grant.role for grant in uses})
    lacking: dict[tuple[str, str, str], Finding] = {}
    for run in runs:
        used: set[Grant] = set()
        for call in run.calls:
            role = role_of(call.role, roles)
            if role is None or call.decision is Decision.FORBIDDEN:
                continue
            grant, sentence = _grant(uses, role, call)
            if sentence:
                lacking[role, call.action, sentence] = Finding(
                    Fault.MISSING, role, call.action, call.resource or "*", sentence
                )
            if grant is not None:
                uses[grant].count += call.count
                used.add(grant)
        for grant in used:
            uses[grant].runs[run.name] += 1
    yield from lacking.values()


def _grant(uses: Mapping[Grant, Use], role: str, call: Call) -> tuple[Grant | None, str]:
    """The grant that a call used, or the finding if there is none."""
    fitting = [grant for grant in uses if (grant.role, grant.action) == (role, call.action)]
    if call.decision is Decision.REFUSED:
        intended = bool(fitting) and (role, call.action) in REFUSED_ON_PURPOSE
        return None, "" if intended else "it was refused; grant it, or have the function not ask for it"
    if call.decision is Decision.SIMULATED:
        # A simulation does not record the resource, so it proves a grant only where the function's code has one
        # resource.
        own = [grant for grant in fitting if uses[grant].reason is None]
        sentence = "" if own else "a simulation asked for it, and the template grants it nowhere"
        return (own[0] if len(own) == 1 else None), sentence
    if not call.sid:  # the resource's own policy allowed it
        return None, ""
    own = [grant for grant in fitting if grant.sid == call.sid]
    if not own:
        return None, f"the statement {call.sid} allowed it, which is not in the template"
    # A parameter may hold several resources, which are one for the template.
    return next((grant for grant in own if grant.position == call.position), own[0]), ""


def _unused(grant: Grant) -> Finding:
    sentence = f"granted by {grant.sid}, and no run used it; take it out, or have a run use it"
    return Finding(Fault.UNUSED, grant.role, grant.action, grant.resource, sentence)


def _needless(reason: Reason) -> Finding:
    sentence = "runs use all that the reason is given for, or nothing of the kind is granted; take the reason out"
    return Finding(Fault.NEEDLESS_REASON, reason.sid, ", ".join(sorted(reason.actions)), "*", sentence)


def _incomplete(runs: Sequence[Run]) -> Iterator[Finding]:
    dropped = sum(run.dropped for run in runs)
    if dropped:
        sentence = f"{dropped} calls found no place in their runs' records, so these prove nothing"
        yield Finding(Fault.INCOMPLETE, "*", "*", "*", sentence)


def _too_wide(uses: dict[Grant, Use], runs: Sequence[Run]) -> Iterator[Finding]:
    """Resources with a wildcard for which a narrower one would do, in whatever stack it was used."""
    roles = sorted({grant.role for grant in uses})
    reasoned = {(grant.role, grant.sid) for grant, use in uses.items() if use.reason is not None}
    seen: dict[tuple[str, str, int], list[Call]] = defaultdict(list)
    for call in (call for run in runs for call in run.calls):
        role = role_of(call.role, roles)
        if role is not None and call.sid and (role, call.sid) not in reasoned:
            seen[role, call.sid, call.position].append(call)
    for (role, sid, _), calls in sorted(seen.items()):
        # By stack, as each has its own names. What a statement's actions were called on counts for all of them.
        patterns = sorted({call.granted for call in calls})
        used = {
            pattern: reduce(common_prefix, (c.resource for c in calls if c.granted == pattern)) for pattern in patterns
        }
        enough = [narrower(pattern, resource) for pattern, resource in used.items()]
        if all(enough):
            actions = ", ".join(sorted({call.action for call in calls}))
            sentence = f"{sid} grants {patterns[0]}, and {enough[0]} would do"
            yield Finding(Fault.TOO_WIDE, role, actions, patterns[0], sentence)


def narrower(pattern: str, seen: str) -> str | None:
    """A narrower pattern that all that was seen fits; None if there is none worth having.

    Args:
        pattern: the granted resource.
        seen: the resource that it was used on, or the common prefix of all of them and `*`.
    """
    if seen == pattern or not re.search(r"[*?]", pattern):
        return None
    if not seen.endswith("*"):
        return seen
    # Names may begin alike by chance: what counts is where a whole part of the ARN is always the same.
    parts = re.match(r"(.*[:/])?", seen.removesuffix("*"))
    whole = parts[0] if parts else ""
    fixed = re.split(r"[*?]", pattern, maxsplit=1)[0]
    return f"{whole}*" if len(whole) > len(fixed) else None
