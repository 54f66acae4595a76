"""The comparison of grants and recorded calls."""

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
    """A fault of a policy, or of a reason given for it."""

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
    """The use of a grant."""

    count: int = 0
    #: The number of runs of each kind that used it.
    runs: Counter[str] = field(default_factory=Counter)
    reason: Reason | None = None


@dataclass
class Proof:
    uses: dict[Grant, Use]
    findings: list[Finding]


def prove(grants: Sequence[Grant], runs: Sequence[Run], reasons: Sequence[Reason]) -> Proof:
    """Compare grants with the calls of runs.

    Args:
        grants: the grants of all functions' roles.
        runs: the recorded runs.
        reasons: the reasons for grants that runs cannot use.
    """
    uses = {grant: Use(reason=next((each for each in reasons if each.covers(grant)), None)) for grant in grants}
    findings = [*_count(uses, runs), *_incomplete(runs)]
    needed = {use.reason for use in uses.values() if not use.count}
    findings += [_needless(reason) for reason in reasons if reason not in needed]
    findings += [_unused(grant) for grant, use in uses.items() if not use.count and use.reason is None]
    findings += _too_wide(uses, runs)
    return Proof(uses, findings)


def role_of(name: str, roles: Iterable[str]) -> str | None:
    """Return the template's role of a role in an account, which is named `STACK-LOGICALID-SUFFIX`.

    Source: CloudFormation user guide, "Name type".

    Args:
        name: the name of the role in the account.
        roles: the logical ids of the template's roles.
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
    """Return the grant that a call used, or a sentence if there is none."""
    fitting = [grant for grant in uses if (grant.role, grant.action) == (role, call.action)]
    if call.decision is Decision.REFUSED:
        intended = bool(fitting) and (role, call.action) in REFUSED_ON_PURPOSE
        return None, "" if intended else "the call was refused; grant it, or remove the call"
    if call.decision is Decision.SIMULATED:
        # A simulation does not record the resource, so it counts for a grant only where the function's code has one.
        own = [grant for grant in fitting if uses[grant].reason is None]
        sentence = "" if own else "a simulation needs it, and the template does not grant it"
        return (own[0] if len(own) == 1 else None), sentence
    if not call.sid:  # the resource's own policy allowed it
        return None, ""
    own = [grant for grant in fitting if grant.sid == call.sid]
    if not own:
        return None, f"it was allowed by the statement {call.sid}, which is not in the template"
    # A parameter may name several resources: in the template they are one.
    return next((grant for grant in own if grant.position == call.position), own[0]), ""


def _unused(grant: Grant) -> Finding:
    sentence = f"granted by {grant.sid}, but unused; remove it, or add a run that uses it"
    return Finding(Fault.UNUSED, grant.role, grant.action, grant.resource, sentence)


def _needless(reason: Reason) -> Finding:
    sentence = "runs use everything that the reason covers, or it is not granted; remove the reason"
    return Finding(Fault.NEEDLESS_REASON, reason.sid, ", ".join(sorted(reason.actions)), "*", sentence)


def _incomplete(runs: Sequence[Run]) -> Iterator[Finding]:
    dropped = sum(run.dropped for run in runs)
    if dropped:
        sentence = f"{dropped} calls are missing from the records, which therefore prove nothing"
        yield Finding(Fault.INCOMPLETE, "*", "*", "*", sentence)


def _too_wide(uses: dict[Grant, Use], runs: Sequence[Run]) -> Iterator[Finding]:
    """Yield resources with a wildcard where a narrower pattern covers all uses, in any stack."""
    roles = sorted({grant.role for grant in uses})
    reasoned = {(grant.role, grant.sid) for grant, use in uses.items() if use.reason is not None}
    seen: dict[tuple[str, str, int], list[Call]] = defaultdict(list)
    for call in (call for run in runs for call in run.calls):
        role = role_of(call.role, roles)
        if role is not None and call.sid and (role, call.sid) not in reasoned:
            seen[role, call.sid, call.position].append(call)
    for (role, sid, _), calls in sorted(seen.items()):
        # By stack, as each has its own names. The resources of all actions of a statement are combined.
        patterns = sorted({call.granted for call in calls})
        used = {
            pattern: reduce(common_prefix, (c.resource for c in calls if c.granted == pattern)) for pattern in patterns
        }
        enough = [narrower(pattern, resource) for pattern, resource in used.items()]
        if all(enough):
            actions = ", ".join(sorted({call.action for call in calls}))
            sentence = f"{sid} grants {patterns[0]}, but {enough[0]} suffices"
            yield Finding(Fault.TOO_WIDE, role, actions, patterns[0], sentence)


def narrower(pattern: str, seen: str) -> str | None:
    """Return a narrower pattern that covers all uses; None if there is no useful one.

    Args:
        pattern: the granted pattern.
        seen: the used resource, or the common prefix of all and `*`.
    """
    if seen == pattern or not re.search(r"[*?]", pattern):
        return None
    if not seen.endswith("*"):
        return seen
    # Equal prefixes of names may be coincidental: only whole parts of the ARN count.
    parts = re.match(r"(.*[:/])?", seen.removesuffix("*"))
    whole = parts[0] if parts else ""
    fixed = re.split(r"[*?]", pattern, maxsplit=1)[0]
    return f"{whole}*" if len(whole) > len(fixed) else None
