"""Checks that the layers contain the pinned packages and the checkout's sources, and nothing else.

    python -m deploy.contents .aws-sam/build     (exit 1 with a sentence for each thing that is wrong)

pip has compared each wheel with its pinned hash; a wheel's RECORD has the hash of each of its files. So a file of the
layer that matches its RECORD matches its pin. Bytecode is written afterwards, of the checked files
(`deploy.bytecode`); earlier bytecode is refused like any other unknown file.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from deploy.archives import files
from deploy.pins import LAYER_PINS, Pin, installed_in, read_pins

OWN_LAYERS = {"CoreLayer": Path("layers/core/src"), "ServiceLayer": Path("layers/service/src")}
# Lambda refuses a function whose code and layers together are larger (Lambda developer guide, quotas).
LAMBDA_LIMIT_BYTES = 250 * 1024 * 1024
_BINARY = ".cpython-313-aarch64-linux-gnu.so"
_AARCH64 = b"\xb7\x00"  # EM_AARCH64, 18 bytes into an ELF file
_NOT_DEPLOYED = {"pip", "setuptools", "wheel", "pytest", "tests", "__pycache__"}


def main() -> int:
    """Check the build in the folder that the first argument names."""
    build = Path(sys.argv[1])
    site = build / "DependenciesLayer" / "python"
    problems = [*wrong_distributions(site, read_pins(LAYER_PINS)), *wrong_files(site), *too_large(build)]
    for layer, source in OWN_LAYERS.items():
        problems += wrong_copies(build / layer / "python", source)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        size = sum(path.stat().st_size for path in files(build) if "Layer" in path.relative_to(build).parts[0])
        print(f"layers: {size / 1e6:.1f} MB unpacked, nothing but what is pinned")
    return 1 if problems else 0


def wrong_distributions(site: Path, pins: list[Pin]) -> Iterator[str]:
    """How the distributions in the layer differ from the pins."""
    pinned = {(pin.name, pin.version) for pin in pins}
    found = {(name, distribution.version) for name, distribution in installed_in(site)}
    for name, version in sorted(pinned - found):
        yield f"{name} {version} is pinned, and not in the layer"
    for name, version in sorted(found - pinned):
        yield f"{name} {version} is in the layer, and not pinned"


def wrong_files(site: Path) -> Iterator[str]:
    """The files that no wheel brought, that differ from it, or that Lambda's Python on arm64 has no use for."""
    recorded = {}
    for _, distribution in installed_in(site):
        for path in distribution.files or []:
            recorded[Path(str(path)).as_posix()] = path.hash.value if path.hash else None
    for file in files(site):
        name = file.relative_to(site).as_posix()
        content = file.read_bytes()
        if name not in recorded:
            yield f"{name} comes from no pinned distribution"
        # A RECORD has no hash of itself.
        elif recorded[name] != _record_hash(content) and not name.endswith(".dist-info/RECORD"):
            yield f"{name} is not as its distribution has it"
        if _NOT_DEPLOYED.intersection(Path(name).parts):
            yield f"{name} is not for the functions"
        if ".so" in file.suffixes and not (name.endswith(_BINARY) and content[18:20] == _AARCH64):
            yield f"{name} is not for Python 3.13 on arm64"


def wrong_copies(built: Path, source: Path) -> Iterator[str]:
    """How a layer of our own differs from its source."""
    have = {path.relative_to(built).as_posix(): path.read_bytes() for path in files(built)}
    want = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in files(source)
        if "__pycache__" not in path.parts
    }
    for name in sorted(have.keys() | want.keys()):
        if have.get(name) != want.get(name):
            yield f"{built / name} differs from {source / name}"


def too_large(build: Path) -> Iterator[str]:
    """Whether the layers and the functions together pass the limit of one function and its layers.

    The dependencies layer, nearly all of it, has a separate, far lower limit in its Makefile.
    """
    size = sum(path.stat().st_size for path in files(build) if path.suffix != ".zip")
    if size > LAMBDA_LIMIT_BYTES:
        yield f"the build has {size} bytes unpacked, more than the {LAMBDA_LIMIT_BYTES} that Lambda takes"


def _record_hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    sys.exit(main())
