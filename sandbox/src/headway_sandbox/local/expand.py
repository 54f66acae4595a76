"""Prints template.yaml after the SAM transform, as JSON.

It runs in .envs/sandbox, where the same transform expands the template for the emulator. Parameters have their
defaults, or the values on the command line (`Name=value`). Only a wheel's environment has this package and the
transform: hence the imports within functions.
"""

import json
import sys
from pathlib import Path
from typing import Any

LOCAL_PATHS = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


def parse(path: Path) -> dict[str, Any]:
    """Return a template with its intrinsic functions in their long form."""
    from samtranslator.yaml_helper import yaml_parse

    template: dict[str, Any] = yaml_parse(path.read_text(encoding="utf-8"))
    return template


def expand(path: Path, given: dict[str, str]) -> dict[str, Any]:
    """Expand a template.

    Args:
        path: The template.
        given: Values of parameters.
    """
    from samtranslator.parser.parser import Parser
    from samtranslator.translator.translator import Translator

    template = parse(path)
    for resource in template["Resources"].values():
        # `sam deploy` uploads local folders and replaces them by their S3 URIs before the transform.
        if key := LOCAL_PATHS.get(resource["Type"]):
            resource["Properties"][key] = "s3://bucket/key"
    values = {
        name: given.get(name, str(parameter.get("Default", ""))) for name, parameter in template["Parameters"].items()
    }
    expanded: dict[str, Any] = Translator({}, Parser()).translate(template, parameter_values=values)
    return expanded


if __name__ == "__main__":
    print(json.dumps(expand(Path(sys.argv[1]), dict(pair.split("=", 1) for pair in sys.argv[2:]))))
