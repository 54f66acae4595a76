"""The result of a rehearsal: a table, sentences, and a document. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway_sandbox.rehearsal.baseline import Baseline
from headway_sandbox.rehearsal.cases import Disturbance
from headway_sandbox.rehearsal.judgement import Judged, Verdict

SURVIVES, DOES_NOT_SURVIVE, NOT_JUDGED = 0, 1, 2
"""Exit codes."""

_NONE = "-"


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a rehearsal."""

    seed: int
    metric: str
    """The metric that was compared; empty: none."""
    baseline: Baseline
    cases: Sequence[Judged]

    @property
    def exit_code(self) -> int:
        """0: the script survives all preemptions; 1: not all; 2: a case could not be judged, and none failed."""
        verdicts = {case.verdict for case in self.cases}
        if Verdict.FAILS in verdicts:
            return DOES_NOT_SURVIVE
        return NOT_JUDGED if Verdict.NOT_JUDGED in verdicts else SURVIVES

    @property
    def headers(self) -> list[str]:
        """The headers of the table."""
        metric = [self.metric] if self.metric else []
        return ["Preemption", "At", "Step", "Written", "Found", "Continued", "Lost", "Last", *metric, "Verdict"]

    @property
    def rows(self) -> list[list[str]]:
        """The rows of the table."""
        return [self._row(case) for case in self.cases]

    def _row(self, judged: Judged) -> list[str]:
        before, after = judged.before, judged.after
        metric = [_NONE if after is None or after.metric is None else f"{after.metric:g}"]
        return [
            judged.case.disturbance,
            _NONE if before.preempted_s is None else f"{before.preempted_s:.1f} s",
            _shown(before.last_step),
            f"half of {before.written_in}" if before.written_in else _count(before.uploaded),
            _NONE if after is None else _count(after.restored),
            _NONE if after is None else _shown(after.first_step),
            _shown(judged.lost_steps),
            _NONE if after is None else _shown(after.last_step),
            *(metric if self.metric else []),
            judged.verdict if judged.problem is None else f"{judged.verdict}: {judged.problem}",
        ]

    @property
    def notes(self) -> list[str]:
        """Sentences on the undisturbed runs, on each problem once, and on the result."""
        base = self.baseline
        metrics = " and ".join(f"{value:g}" for value in base.metrics)
        undisturbed = (
            f"Undisturbed: steps {base.first_step} to {base.last_step} in {base.run_s:.1f} s"
            f"{f', {self.metric} {metrics}' if metrics else ''}. Seed: {self.seed}."
        )
        problems: dict[str, str] = {}
        for judged in self.cases:
            if judged.problem is not None:
                problems.setdefault(judged.problem, f"{judged.problem.capitalize()}: {judged.sentence}")
        return [undisturbed, *problems.values(), self._summary()]

    def _summary(self) -> str:
        counts = {verdict: sum(case.verdict is verdict for case in self.cases) for verdict in Verdict}
        total = len(self.cases)
        if counts[Verdict.FAILS]:
            return f"The script does not survive {counts[Verdict.FAILS]} of {total} preemptions."
        if counts[Verdict.NOT_JUDGED]:
            return f"{counts[Verdict.NOT_JUDGED]} of {total} preemptions could not be judged."
        return f"The script survives all {total} preemptions."

    @property
    def document(self) -> dict[str, Any]:
        """The result as JSON."""
        base = self.baseline
        return {
            "survives": self.exit_code == SURVIVES,
            "seed": self.seed,
            "undisturbed": {
                "runSeconds": round(base.run_s, 3),
                "firstStep": base.first_step,
                "lastStep": base.last_step,
                "metric": self.metric or None,
                "metricValues": list(base.metrics),
            },
            "cases": [_document(judged) for judged in self.cases],
        }


_CASE_NAMES = {
    Disturbance.SIGTERM: "SIGTERM",
    Disturbance.SIGTERM_TO_ALL: "SIGTERMToAll",
    Disturbance.LOST_IN_WRITE: "LostInWrite",
}


def _document(judged: Judged) -> dict[str, Any]:
    before, after = judged.before, judged.after
    return {
        "preemption": _CASE_NAMES[judged.case.disturbance],
        "preemptedAtSeconds": None if before.preempted_s is None else round(before.preempted_s, 3),
        "lastStepBefore": before.last_step,
        "checkpointFilesWritten": before.uploaded,
        "halfWritten": before.written_in or None,
        "checkpointFilesFound": None if after is None else after.restored,
        "continuedAtStep": None if after is None else after.first_step,
        "lostSteps": judged.lost_steps,
        "lastStep": None if after is None else after.last_step,
        "metricValue": None if after is None else after.metric,
        "verdict": judged.verdict,
        "problem": judged.problem,
        "remedy": judged.sentence or None,
    }


def _shown(step: int | None) -> str:
    return _NONE if step is None else str(step)


def _count(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}" if files else "no"
