"""Layers unpacked once for all environments, as Lambda mounts one copy into each.

ministack writes and unpacks every layer anew for every process that it starts for a function: of the dependencies
17 MB and most of a second each time, while a burst of events starts several.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway_sandbox.emulator.patches import module

_lock = threading.Lock()


def with_mounted_layers(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a function whose layers its process finds unpacked, so that ministack unpacks none.

    Args:
        config: as ministack keeps it: Layers are ARNs, or objects with one.
    """
    resolve = module("services.lambda_svc")._resolve_layer_zip  # noqa: SLF001  the content of a layer version
    folders = [_unpacked(resolve(layer)) for layer in config.get("Layers") or []]
    variables = {**(config.get("Environment") or {}).get("Variables", {})}
    # The server writes no bytecode into the sources that it is run from. What is compiled here is gone with the
    # sandbox, and half of an environment's start is compiling.
    variables.setdefault("PYTHONDONTWRITEBYTECODE", "")
    if folders:
        # Where ministack's program for a process looks for layers.
        variables["_LAMBDA_LAYERS_DIRS"] = os.pathsep.join(map(str, folders))
    return {**config, "Layers": [], "Environment": {"Variables": variables}}


def _unpacked(content: bytes) -> Path:
    folder = Path(tempfile.gettempdir()) / "layers" / hashlib.sha256(content).hexdigest()
    with _lock:
        if not folder.is_dir():
            draft = folder.with_suffix(".draft")
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                archive.extractall(draft)
            draft.rename(folder)
    return folder
