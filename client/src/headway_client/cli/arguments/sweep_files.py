"""Read sweeps from files of YAML or JSON."""

from __future__ import annotations

from headway.sweeps import InvalidSweep, Sweep
from headway_client.cli.arguments import input_files
from headway_client.cli.arguments.yaml_documents import parse_yaml
from headway_client.errors import FieldMessage, RequestFileError

MAX_LISTED_PROBLEMS = 25


def read_sweep(source: str) -> Sweep:
    """Read a sweep from a file, from standard input for ``-``, or from the argument itself if that begins with a brace.

    Raises:
        RequestFileError: it can't be read, or describes no sweep; the fields have each problem with its line.
    """
    if source.lstrip().startswith("{"):
        name, text = "The argument", source
    else:
        name = input_files.name_of(source)
        text = input_files.read_text(source, max_bytes=input_files.MAX_YAML_BYTES, of="a sweep")
    document = parse_yaml(text, name)
    try:
        return Sweep.parse(document.value)
    except InvalidSweep as error:
        problems = error.problems
        fields = [
            FieldMessage(field=f"{name}, line {document.line(each.path)}", message=f"{each}.")
            for each in problems[:MAX_LISTED_PROBLEMS]
        ]
        more = len(problems) - len(fields)
        rest = f" The first {len(fields)} of {len(problems):,} problems are listed." if more else ""
        raise RequestFileError(f"{name} describes no sweep.{rest}", fields=fields) from error
