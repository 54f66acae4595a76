"""Packs what `sam build` has built, one archive a folder: the same bytes from the same content, wherever and whenever.

    python -m deploy.archives .aws-sam/build

`sam deploy` would pack the folders itself, with fixed times, yet in the file system's order and with the modes that the
umask left. It uploads an archive that is there already as it is, so the built template is made to name the archives.
"""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

SUMS = "archives.sha256"
_CODE = re.compile(r"^(\s+(?:CodeUri|ContentUri): )(\w+)$", re.MULTILINE)
_FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can store


def main() -> int:
    """Pack the build in the folder that the first argument names, and write its archives' sums beside them."""
    build = Path(sys.argv[1])
    template = build / "template.yaml"
    text = template.read_text(encoding="utf-8")
    names = sorted({match[2] for match in _CODE.finditer(text)})
    if not names:
        print(f"{template} names no folder: run `make build`, which builds and packs", file=sys.stderr)
        return 1
    for name in names:
        pack(build / name, build / f"{name}.zip")
    sums = [f"{sha256(build / f'{name}.zip')}  {name}.zip\n" for name in names]
    (build / SUMS).write_text("".join(sums), encoding="utf-8")
    template.write_text(_CODE.sub(r"\1\2.zip", text), encoding="utf-8")
    print("".join(sums), end="")
    return 0


def pack(folder: Path, archive: Path) -> None:
    """Write the files of a folder into a new archive.

    They are stored, not compressed: what a compressor writes depends on its version, and Lambda's limit is on what
    is unpacked.
    """
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for path in files(folder):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _FIRST_TIME)
            info.create_system = 3  # Unix, by which the mode is understood
            info.external_attr = (0o100755 if path.stat().st_mode & 0o100 else 0o100644) << 16
            packed.writestr(info, path.read_bytes())


def files(folder: Path) -> Iterator[Path]:
    """The files in a folder and below it, in the order of their paths."""
    return iter(sorted(path for path in folder.rglob("*") if path.is_file()))


def sha256(path: Path) -> str:
    """The sum of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
