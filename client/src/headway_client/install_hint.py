"""The command that adds an extra to this installation.

No index has Headway, so its name alone would install somebody else's package: the command names what this installation
was made from, which pip records (PEP 610, "Recording the Direct URL Origin of installed distributions").
"""

from __future__ import annotations

import json
from pathlib import Path

_NAME = "headway"


def install_command(extra: str) -> str:
    """Return the command that installs Headway with an extra, such as ``pip install '/src/headway[board]'``.

    Args:
        extra: the name of the extra.
    """
    # Only who has to install something waits for these imports.
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    url, is_editable = _origin()
    parts = urlsplit(url)
    if parts.scheme == "file":
        option = "-e " if is_editable else ""
        return f"pip install {option}'{url2pathname(parts.path)}[{extra}]'"
    return f"pip install '{_NAME}[{extra}]" + (f" @ {url}'" if url else "'")


def _origin() -> tuple[str, bool]:
    """Return the URL that this was installed from, and whether its files are used in place; "" for an index."""
    from importlib import metadata

    try:
        recorded = metadata.distribution(_NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        checkout = Path(__file__).resolve().parents[3]
        return (checkout.as_uri(), True) if (checkout / "pyproject.toml").exists() else ("", False)
    found = json.loads(recorded) if recorded else {}
    return str(found.get("url", "")), bool(found.get("dir_info", {}).get("editable", False))
