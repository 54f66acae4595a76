"""Which jobs are alike: by whose they are, what they run, on what, and how they are named."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from headway.model import Demand

MAX_STEM_CHARS = 63
"""Characters of the stem of a name that count."""

MAX_INSTANCES_CHARS = 200
"""Characters of a demand that count."""

# Numbers at the end, such as counters, dates and times, each after a separator; or digits right at the end.
_NUMBERS = re.compile(r"(?:[-_.][0-9]+)+$|[0-9]+$", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunKind:
    """What is known of a job before it runs. An empty text is a value like others.

    Attributes:
        owner: who submitted it.
        source: its script, or its image.
        instances: by :func:`instances_of`.
        stem: by :func:`stem_of`.
    """

    owner: str = ""
    source: str = ""
    instances: str = ""
    stem: str = ""

    @classmethod
    def of(cls, *, owner: str, source: str, demand: Demand, name: str) -> RunKind:
        """The kind of a job.

        Args:
            owner: who submitted it.
            source: its script, or its image.
            demand: its instances.
        """
        return cls(owner=owner, source=source, instances=instances_of(demand), stem=stem_of(name))

    @classmethod
    def parse(cls, text: str) -> RunKind:
        """The kind that :attr:`text` names; one of unknown values if it names none."""
        try:
            owner, source, instances, stem = map(str, json.loads(text))
        except ValueError:
            return cls()
        return cls(owner=owner, source=source, instances=instances, stem=stem)

    @property
    def text(self) -> str:
        """It as a text, from which it can be read again."""
        return json.dumps([self.owner, self.source, self.instances, self.stem], separators=(",", ":"))

    def classes(self) -> tuple[tuple[str, ...], ...]:
        """The classes of jobs that it belongs to, the most specific first: the values that the jobs of each share."""
        return (
            (self.owner, self.source, self.instances, self.stem),
            (self.owner, self.source, self.instances),
            (self.owner, self.source),
            (self.owner,),
            (),
        )


def stem_of(name: str) -> str:
    """A name without the numbers at its end, which differ between runs of one kind."""
    return (_NUMBERS.sub("", name) or name)[:MAX_STEM_CHARS]


def instances_of(demand: Demand) -> str:
    """A demand as a text, such as ``ml.p5.48xlarge*2``."""
    return "+".join(f"{pool}*{count}" for pool, count in sorted(demand.items()))[:MAX_INSTANCES_CHARS]
