"""How large what `make build` has built is, packed and unpacked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deploy.archives import files
from deploy.contents import OWN_LAYERS, wrong_copies

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".aws-sam" / "build"


def measure(build: Path = BUILD) -> dict[str, Any]:
    """Bytes of each archive that `sam deploy` uploads, and of what Lambda unpacks it to; empty without a build.

    Archives are stored, not compressed (`deploy.archives`).
    """
    parts = {
        archive.stem: {
            "packedBytes": archive.stat().st_size,
            "unpackedBytes": sum(path.stat().st_size for path in files(archive.with_suffix(""))),
        }
        for archive in sorted(build.glob("*.zip"))
    }
    if not parts:
        return {}
    # A build of other sources is reported, as its sizes may differ a little. Bytecode is part of the build.
    differs = any(
        "/__pycache__/" not in problem
        for layer, source in OWN_LAYERS.items()
        for problem in wrong_copies(build / layer / "python", ROOT / source)
    )
    return {"parts": parts, "ofTheseSources": not differs}
