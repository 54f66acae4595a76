"""What `headway sandbox up --train` runs scripts with."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from headway_sandbox.errors import WrongUsage
from headway_sandbox.sagemaker import service_facts

EVERY_IMAGE = "*"
_FOLDERS = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix]))"
MAX_DISK_BYTES = 10 * 2**30
"""Disk space of a host, by default."""
_ANSWER_S = 20.0


class NoInterpreter(WrongUsage):
    """There is no Python to run scripts with."""


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """A Python that runs the scripts of some images."""

    folder: str
    """Folder of its programs, the first one of PATH."""
    programs: tuple[str, ...]
    """Folders that the container needs to see."""

    @classmethod
    def find(cls, python: Path) -> Interpreter:
        """Return the interpreter at a path.

        Raises:
            NoInterpreter: It does not run.
        """
        try:
            answer = subprocess.run(
                [str(python), "-I", "-c", _FOLDERS], capture_output=True, check=True, timeout=_ANSWER_S
            )
            prefix, base = json.loads(answer.stdout)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise NoInterpreter(f"{python} is no Python that runs: {error}. Give the path of one.") from error
        # Programs name the folder as it was given, the interpreter as it is without links.
        folders = [each for name in (base, prefix) for each in (str(Path(name).resolve()), name)]
        return cls(folder=f"{prefix}/bin", programs=tuple(dict.fromkeys(folders)))


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Which scripts run, and how."""

    interpreters: Mapping[str, Interpreter] = field(default_factory=dict)
    """Interpreters by pattern of the training image's URI; the first that fits is used."""
    isolation: str
    """How scripts are isolated (`headway_sandbox.training.container.isolation.Isolation`)."""
    stop_grace_s: float = service_facts.STOP_GRACE_S
    """From SIGTERM to SIGKILL, s."""
    disk_bytes: int = MAX_DISK_BYTES
    """Disk space of a host."""
    memory_bytes: int | None = None
    """Memory of a host; None: that of the machine."""

    def interpreter(self, image: str) -> Interpreter | None:
        """Return the interpreter for a training image; None if no pattern fits."""
        fitting = (each for pattern, each in self.interpreters.items() if fnmatchcase(image, pattern))
        return next(fitting, None)

    def to_document(self) -> dict[str, Any]:
        """Return them as JSON."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> TrainingSettings:
        """Load what `to_document` returned."""
        interpreters = {
            pattern: Interpreter(folder=each["folder"], programs=tuple(each["programs"]))
            for pattern, each in document["interpreters"].items()
        }
        return cls(**{**document, "interpreters": interpreters})


def find_interpreters(images: Sequence[str], *, default: Path) -> dict[str, Interpreter]:
    """Return the interpreters by pattern.

    Args:
        images: `PATTERN=PYTHON` each; none: the default for all images.
        default: The Python that runs scripts if none is given.

    Raises:
        NoInterpreter: One is malformed or does not run.
    """
    found = {}
    for entry in images or [f"{EVERY_IMAGE}={default}"]:
        pattern, _, python = entry.rpartition("=")
        if not pattern:
            raise NoInterpreter(
                f"'{entry}' is not of the form PATTERN=PYTHON, such as '*pytorch*=/envs/torch/bin/python'."
            )
        found[pattern] = Interpreter.find(Path(python).expanduser())
    return found
