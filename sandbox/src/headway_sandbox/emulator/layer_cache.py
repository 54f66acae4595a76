"""Layers unpacked once for all environments, as Lambda mounts one copy into each.

ministack unpacks every layer again for each process that it starts: 17 MB of dependencies and most of a second each
time, and a burst of events starts several processes.
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
    """Return a function's configuration with its layers mounted, so that ministack unpacks none.

    Args:
        config: ministack's configuration of the function: Layers are ARNs, or objects with one.
    """
    resolve = module("services.lambda_svc")._resolve_layer_zip  # noqa: SLF001  the content of a layer version
    folders = [_unpacked(resolve(layer)) for layer in config.get("Layers") or []]
    variables = {**(config.get("Environment") or {}).get("Variables", {})}
    # The server itself writes no bytecode into its sources. The functions do: their bytecode is removed with the
    # sandbox, and half of an environment's start is compiling.
    variables.setdefault("PYTHONDONTWRITEBYTECODE", "")
    if folders:
        # ministack's worker program searches layers here.
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
