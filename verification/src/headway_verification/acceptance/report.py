"""The dated report of a run, as JSON and as Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headway_verification.acceptance.verdict import Check, Finding, Verdict

SANDBOX = (
    "**This is the report of a sandbox.** It answers as Headway assumes that AWS does, so it proves nothing of AWS: it "
    "shows that the checks run."
)


@dataclass(frozen=True, kw_only=True)
class Result:
    """A check and its finding."""

    check: Check
    finding: Finding


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a run found.

    Attributes:
        where: the stack, the region and the account.
        version: of Headway.
        took_s: duration of the run, s.
    """

    began: datetime
    where: str
    is_sandbox: bool
    version: str
    took_s: float
    results: Sequence[Result]

    @property
    def counts(self) -> Counter[Verdict]:
        """The number of checks by verdict."""
        return Counter(each.finding.verdict for each in self.results)

    @property
    def summary(self) -> str:
        """One line."""
        return ", ".join(f"{self.counts[verdict]} {verdict}" for verdict in Verdict)

    def to_json(self) -> str:
        """Return the report for programs."""
        checks = [
            {
                "name": each.check.name,
                "service": each.check.service,
                "assumes": each.check.assumes,
                "asked": each.check.asks,
                "verdict": each.finding.verdict,
                "answer": each.finding.answer,
                "ifFalse": each.check.if_false,
            }
            for each in self.results
        ]
        document = {
            "began": self.began.isoformat(timespec="seconds"),
            "where": self.where,
            "isSandbox": self.is_sandbox,
            "version": self.version,
            "tookSeconds": round(self.took_s),
            "checks": checks,
        }
        return json.dumps(document, indent=2) + "\n"

    def to_markdown(self) -> str:
        """Return the report for people: a table, then each check that does not hold with what to change."""
        lines = [f"# Acceptance of {self.where}", ""]
        lines += [SANDBOX, ""] if self.is_sandbox else []
        lines += [
            f"{self.began:%Y-%m-%d %H:%M} UTC, Headway {self.version}, {self.took_s:.0f} s: {self.summary}.",
            "",
            "| check | service | verdict | what was asked | what the answer was |",
            "| --- | --- | --- | --- | --- |",
        ]
        for each in self.results:
            cells = (each.check.name, each.check.service, each.finding.verdict, each.check.asks, each.finding.answer)
            lines.append("| " + " | ".join(_cell(text) for text in cells) + " |")
        for each in self.results:
            if each.finding.verdict is Verdict.FALSE:
                lines += ["", f"## {each.check.name} does not hold", "", each.check.assumes]
                lines += [f"The answer: {each.finding.answer}", "", each.check.if_false]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both forms, named by the time of the run; return their paths.

        Args:
            folder: made if it does not exist.
        """
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{self.began:%Y-%m-%dT%H-%M-%S}"
        markdown, document = folder / f"{name}.md", folder / f"{name}.json"
        markdown.write_text(self.to_markdown(), encoding="utf-8")
        document.write_text(self.to_json(), encoding="utf-8")
        return markdown, document


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
