"""Draws the README's badges from pyproject.toml, so that no page loads them from another host.

python -m docs.site.badges
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "images"


def badges() -> dict[str, str]:
    """The badges as SVG, by file name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: "
    versions = [each.removeprefix(prefix) for each in project["classifiers"] if each.startswith(prefix)]
    return {
        "badge-python.svg": badge("python", f"{versions[0]} to {versions[-1]}"),
        "badge-license.svg": badge("license", project["license"]),
        "badge-version.svg": badge("version", project["version"]),
    }


def badge(label: str, value: str) -> str:
    """One badge."""
    left, right = 14 + 7 * len(label), 14 + 7 * len(value)
    text = '<text y="14" text-anchor="middle" fill="#fff" font-family="sans-serif" font-size="11"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20">'
        f"<title>{label}: {value}</title>"
        f'<rect width="{left}" height="20" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="#3b5bdb"/>'
        f'{text} x="{left / 2:g}">{label}</text>{text} x="{left + right / 2:g}">{value}</text></svg>\n'
    )


if __name__ == "__main__":
    for name, text in badges().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
