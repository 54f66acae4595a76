"""Write documents as YAML that YAML 1.1 and 1.2 read as the same document."""

from __future__ import annotations

import json
import sys
from typing import Any

import yaml

from headway_client.cli.arguments.yaml_documents import plain_value


class _Dumper(yaml.SafeDumper):
    """Writes each value in full, and quotes what only YAML 1.2 takes for something else than text, such as 1e-4."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Write a value again where it occurs again."""
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        """Represent a text."""
        style = None if isinstance(plain_value(data), str) else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def to_yaml(document: Any) -> str:
    """Return a document of JSON as one of ASCII YAML with its mark ``---``, so that several may follow each other."""
    # Mappings and sequences of any kind are what JSON makes of them.
    plain = json.loads(json.dumps(document))
    text = yaml.dump(plain, Dumper=_Dumper, explicit_start=True, sort_keys=False, width=sys.maxsize)
    return text.rstrip("\n").removesuffix("\n...")
