"""Writes bills of materials (CycloneDX 1.6, JSON) of the deployed code and of the client.

    python -m deploy.sbom build/sbom     (after `make build`)

The same build gives the same bytes: neither times nor serial numbers, which the format does not demand.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

from deploy.archives import SUMS
from deploy.licences import licence
from deploy.pins import LAYER_PINS, Pin, installed_in, normalised, read_pins

BUILD = Path(".aws-sam/build")
TESTED_PINS = Path("requirements/dev.txt")
Document = dict[str, Any]
# The environment markers: Lambda's runtime for the deployed code.
_LAMBDA: Final = {
    "python_version": "3.13",
    "python_full_version": "3.13.0",
    "platform_machine": "aarch64",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "extra": "",
}


def main() -> int:
    """Write both documents into the folder that the first argument names."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    documents = {
        "deployed": deployed(BUILD, read_pins(LAYER_PINS)),
        "client": client(dict(installed_in(_packages())), read_pins(TESTED_PINS)),
    }
    for name, document in documents.items():
        path = target / f"{name}.cdx.json"
        path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{path}: {len(document['components'])} components")
    return 0


def deployed(build: Path, pins: Iterable[Pin]) -> Document:
    """What `sam deploy` uploads: our archives by their sums, and the packages in the dependencies layer."""
    sums = (line.split() for line in (build / SUMS).read_text(encoding="utf-8").splitlines())
    archives: list[Document] = [
        {
            "bom-ref": f"archive:{name}",
            "type": "file",
            "name": name,
            "hashes": [{"alg": "SHA-256", "content": sha256}],
        }
        for sha256, name in sums
    ]
    packages = dict(installed_in(build / "DependenciesLayer" / "python"))
    libraries, edges = _libraries(packages, {pin.name: pin for pin in pins})
    inside = {"ref": "archive:DependenciesLayer.zip", "dependsOn": [library["bom-ref"] for library in libraries]}
    root: list[str] = [archive["bom-ref"] for archive in archives]
    return _document("headway", [*archives, *libraries], [inside, *edges], root)


def client(packages: dict[str, Distribution], pins: Iterable[Pin]) -> Document:
    """What `headway` the client needs on a user's machine, in the versions that it is tested with."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = [normalised(Requirement(line).name) for line in project["dependencies"]]
    needed: set[str] = set()
    ahead = list(direct)
    while ahead:
        name = ahead.pop()
        if name not in needed:
            needed.add(name)
            ahead += _requires(packages[name])
    libraries, edges = _libraries({name: packages[name] for name in needed}, {pin.name: pin for pin in pins})
    refs = {library["name"]: library["bom-ref"] for library in libraries}
    return _document("headway-client", libraries, edges, [refs[name] for name in sorted(direct)])


def _libraries(packages: dict[str, Distribution], pins: dict[str, Pin]) -> tuple[list[Document], list[Document]]:
    refs = {name: f"pkg:pypi/{name}@{distribution.version}" for name, distribution in packages.items()}
    libraries = []
    for name, distribution in sorted(packages.items()):
        pin = pins[name]
        if pin.version != distribution.version:
            raise SystemExit(f"{name} {distribution.version} is installed, {pin.version} pinned: run `make clean-all`")
        libraries.append(
            {
                "bom-ref": refs[name],
                "type": "library",
                "name": name,
                "version": pin.version,
                "purl": refs[name],
                "licenses": [{"expression": licence(distribution)}],
                "externalReferences": [
                    {
                        "type": "distribution",
                        "url": refs[name],
                        "comment": "the pinned files, of which pip installs the one that fits",
                        "hashes": [{"alg": "SHA-256", "content": sha256} for sha256 in pin.sha256],
                    }
                ],
            }
        )
    edges = [
        {"ref": refs[name], "dependsOn": sorted(refs[other] for other in set(_requires(packages[name])) & refs.keys())}
        for name in sorted(packages)
    ]
    return libraries, edges


def _requires(distribution: Distribution) -> list[str]:
    requirements = map(Requirement, distribution.requires or [])
    return [normalised(r.name) for r in requirements if r.marker is None or r.marker.evaluate(dict(_LAMBDA))]


def _document(name: str, components: list[Document], edges: list[Document], direct: list[str]) -> Document:
    version = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    root = f"{name}@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "bom-ref": root,
                "type": "application",
                "name": name,
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": components,
        "dependencies": [{"ref": root, "dependsOn": direct}, *edges],
    }


def _packages() -> Path:
    import packaging

    return Path(packaging.__file__).parent.parent


if __name__ == "__main__":
    sys.exit(main())
