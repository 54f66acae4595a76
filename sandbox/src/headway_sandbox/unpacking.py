"""Layers unpacked once, not once per process.

ministack unpacks every layer anew for every process that it starts for a function. The dependencies take most of a
second, several times over when a burst of events starts several processes; so here they share what was unpacked.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import types
import zipfile
from pathlib import Path
from typing import Any

_lock = threading.Lock()


class _SharingZipFile(zipfile.ZipFile):
    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        target = Path(path or ".")
        # ministack's name for the folder of a function's nth layer; a function's own code is not shared.
        if not target.name.startswith("layer_") or self.filename is None:
            super().extractall(path, members, pwd)
            return
        digest = hashlib.sha256(Path(self.filename).read_bytes()).hexdigest()
        shared = Path(tempfile.gettempdir()) / "layers" / digest
        with _lock:
            if not shared.is_dir():
                draft = shared.with_suffix(".draft")
                super().extractall(draft, members, pwd)
                draft.rename(shared)
        target.rmdir()
        target.symlink_to(shared, target_is_directory=True)


def zipfile_with_shared_layers() -> types.SimpleNamespace:
    """What `lambda_runtime` uses of the module zipfile (LargeFileError by a name it misspells), with layers shared."""
    return types.SimpleNamespace(
        ZipFile=_SharingZipFile, BadZipFile=zipfile.BadZipFile, LargeFileError=zipfile.LargeZipFile
    )
