"""What a command on a page addresses in a deployment: stacks, tables, parameters, make's targets, options of programs.

Each question has one function, which returns a sentence on what is wrong, or None.
"""

from __future__ import annotations

import argparse
import importlib
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from unittest import mock

import yaml
from botocore import xform_name
from botocore.session import Session

from headway_client.account import parameters, samconfig
from headway_client.account.parameters import Declared
from tests.docs.shell_commands import ROOT, Typed

_SETTINGS = ("samconfig.toml", "samconfig.local.toml")
"""The tracked settings, and the copy that git ignores."""
_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*|.*[$…].*|.*\.\.\.")
"""A word of a page that stands for another one."""
_OUTPUT = re.compile(r"OutputKey==['`\"](\w+)")
_GLOBAL_OPTIONS = {"query", "output", "region", "profile", "endpoint-url", "max-items", "cli-binary-format"}
"""Options of all commands of the AWS CLI (its reference, "Global options" and "Pagination")."""
_DEPLOY_OPTIONS = {"template-file", "stack-name", "capabilities", "parameter-overrides", "tags"}
"""Options of `aws cloudformation deploy`, which is the CLI's own."""
_WITHOUT_MODEL = {"s3", "logs tail"}
"""Commands that the CLI has without an operation of that name."""
_RENAMED = {("sns", "Endpoint"): "notification-endpoint"}
"""Members that the AWS CLI calls otherwise, as a global option has their name."""
_SESSION = Session()


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """What the repository deploys, and what the pages' commands make beside it.

    Attributes:
        made_stacks: stacks by the template that a command makes them from.
        made_tables: tables that commands restore.
    """

    made_stacks: dict[str, str] = field(default_factory=dict)
    made_tables: frozenset[str] = frozenset()

    @classmethod
    def with_made_by(cls, commands: Sequence[Typed]) -> Deployment:
        """The deployment, with what commands make."""
        given = [options_of(each.words[3:]) for each in commands if each.words[0] == "aws" and len(each.words) > 3]
        return cls(
            made_stacks={each["stack-name"][0]: each["template-file"][0] for each in given if "template-file" in each},
            made_tables=frozenset(name for each in given for name in each.get("target-table-name", ())),
        )

    def problem(self, typed: Typed) -> str | None:
        """Say what is wrong with a command; None for one that addresses no deployment, too."""
        check = _CHECKS.get("python" if typed.program.startswith("python") else typed.program)
        return next((sentence for sentence in check(self, typed)), None) if check else None

    # ------------------------------------------------------------------------------------------- what there is

    def stack_problem(self, name: str) -> str | None:
        known = {_named(env)[0] for env in environments()} | self.made_stacks.keys()
        return None if stands_for(name, known) else f"no deployment makes the stack {name}: {sorted(known)}"

    def table_problem(self, name: str) -> str | None:
        known = {table for env in environments() if (table := _named(env)[1])} | self.made_tables
        return None if stands_for(name, known) else f"no deployment makes the table {name}: {sorted(known)}"

    def outputs_of(self, stack: str) -> set[str]:
        """The outputs of a stack that a command names."""
        return set(_template(self.made_stacks.get(stack, "template.yaml"))["Outputs"])


def stands_for(word: str, known: set[str]) -> bool:
    """Whether a word of a page is one of these, or a placeholder."""
    return word in known or _PLACEHOLDER.fullmatch(word) is not None


@cache
def environments() -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    """The parts of samconfig.toml."""
    document = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    return {name: part for name, part in document.items() if isinstance(part, dict)}


def _named(environment: str) -> tuple[str, str]:
    """The stack and the table of a part of samconfig.toml."""
    overrides = samconfig.read_overrides(ROOT / "samconfig.toml", environment)
    default = str(declared("template.yaml")["TableName"]["Default"])
    return str(environments()[environment]["global"]["parameters"]["stack_name"]), overrides.get("TableName", default)


@cache
def declared(template: str) -> Declared:
    """The parameters of a template."""
    return parameters.read_declared(ROOT / template)


@cache
def _template(path: str) -> dict[str, dict[str, object]]:
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("!", lambda _loader, _tag, _node: None)
    document: dict[str, dict[str, object]] = yaml.load((ROOT / path).read_text(encoding="utf-8"), Loader)
    return document


def parameter_problem(name: str, value: str, templates: Sequence[str]) -> str | None:
    """Say why no template takes a parameter; its value may be a placeholder."""
    takers = [declared(template) for template in templates if name in declared(template)]
    if not takers:
        return f"{name} is no parameter of {' or '.join(templates)}"
    if stands_for(value, set()):
        return None
    given = {name: value}
    refused = [
        next(iter(parameters.check_values(given, {**dict.fromkeys(each, ""), **given}, each)), None) for each in takers
    ]
    found = [each for each in refused if each is not None]
    return None if len(found) < len(refused) else found[0].sentence


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, _, value = word.partition("=")
        yield name, value


def options_of(words: Sequence[str]) -> dict[str, list[str]]:
    """The options among words, without their hyphens, with the words after each."""
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            values = found.setdefault(name, [value] if equals else [])
        else:
            values.append(word)
    return found


# -------------------------------------------------------------------------------------------------------- the programs


def _check_make(_deployment: Deployment, typed: Typed) -> Iterator[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", makefile, re.MULTILINE))
    variables = set(re.findall(r"\$\((?:or \$\()?([A-Z_]+)\b", makefile)) | set(
        re.findall(r"^([A-Z_]+) \?=", makefile, re.MULTILINE)
    )
    words = [word for word in typed.words[1:] if not word.startswith("-")]
    for target in [word for word in words if "=" not in word]:
        if not stands_for(target, targets):
            yield f"the Makefile has no target {target}"
    for name, value in _pairs([word for word in words if "=" in word]):
        if name not in variables:
            yield f"the Makefile reads no variable {name}"
        elif name == "ENV" and not stands_for(value, set(environments())):
            yield f"samconfig.toml has no environment {value}"


def _check_sam(deployment: Deployment, typed: Typed) -> Iterator[str]:
    given = options_of(typed.words[2:])
    for config in given.get("config-file", ()):
        if config not in _SETTINGS:
            yield f"there are no settings {config}"
    for environment in given.get("config-env", ()):
        if not stands_for(environment, set(environments())):
            yield f"samconfig.toml has no environment {environment}"
    for stack in given.get("stack-name", ()):
        yield from filter(None, [deployment.stack_problem(stack)])
    if typed.words[1:2] == ("deploy",) and given.get("parameter-overrides"):
        yield (
            "the next deployment undoes --parameter-overrides, and without --config-env they are for another stack: "
            "set the parameter in samconfig.local.toml"
        )
    if (
        typed.shown
        and typed.words[1:2] in {("deploy",), ("delete",)}
        and not {"config-env", "stack-name"} & given.keys()
    ):
        yield "it names no stack: add --config-env, or --stack-name"


def _check_aws(deployment: Deployment, typed: Typed) -> Iterator[str]:
    service, operation = typed.words[1:3] if len(typed.words) > 2 else (typed.words[-1], "")
    given = options_of(typed.words[3:])
    if f"{service} {operation}" == "cloudformation deploy":
        template = given["template-file"][0]
        yield from (f"it has no option --{name}" for name in given.keys() - _DEPLOY_OPTIONS)
        if not (ROOT / template).is_file():
            yield f"there is no file {template}"
            return
        for name, value in _pairs(given.get("parameter-overrides", ())):
            yield from filter(None, [parameter_problem(name, value, [template])])
    elif service not in _WITHOUT_MODEL and f"{service} {operation}" not in _WITHOUT_MODEL:
        yield from _model_problems(service, operation, typed, given)
    for stack in given.get("stack-name", ()):
        yield from filter(None, [deployment.stack_problem(stack)])
        outputs = deployment.outputs_of(stack)
        yield from (
            f"the stack {stack} has no output {name}"
            for query in given.get("query", ())
            for name in _OUTPUT.findall(query)
            if name not in outputs
        )
    for option in ("table-name", "source-table-name"):
        for table in given.get(option, ()):
            yield from filter(None, [deployment.table_problem(table)])


def _model_problems(service: str, operation: str, typed: Typed, given: dict[str, list[str]]) -> Iterator[str]:
    """What the service's model has against a call of the AWS CLI."""
    if service not in _SESSION.get_available_services():
        yield f"there is no service {service}"
        return
    model = _SESSION.get_service_model(service)
    calls = {xform_name(name, "-"): name for name in model.operation_names}
    if operation == "wait":
        waiters = _SESSION.get_component("data_loader").load_service_model(service, "waiters-2")["waiters"]
        calls = {xform_name(name, "-"): waiter["operation"] for name, waiter in waiters.items()}
        operation = typed.words[3]
    if operation not in calls:
        yield f"{service} has no operation {operation}"
        return
    shape = model.operation_model(calls[operation]).input_shape
    options = {name: _option(service, name) for name in (shape.members if shape else {})}
    for name in given:
        if name not in {*options.values(), *_GLOBAL_OPTIONS} and name.removeprefix("no-") not in options.values():
            yield f"{service} {operation} has no option --{name}"
    # In the text a command may be named with the options that matter.
    for name in shape.required_members if shape and typed.shown else ():
        if options[name] not in given:
            yield f"{service} {operation} needs --{options[name]}"


def _option(service: str, member: str) -> str:
    """What the AWS CLI calls a member of a request."""
    return _RENAMED.get((service, member), xform_name(member, "-"))


class _Parsed(Exception):
    """The arguments were accepted."""


def _check_python(deployment: Deployment, typed: Typed) -> Iterator[str]:
    name, arguments = _module_of(typed)
    if not name:
        return
    if not (ROOT / name.replace(".", "/")).with_suffix(".py").is_file():
        yield f"there is no module {name}"
        return
    if not typed.shown and not arguments:
        return  # the module is mentioned, not called
    yield from _argument_problems(name, arguments)
    for word in arguments:
        if word.startswith("samconfig") and word not in _SETTINGS:
            yield f"there are no settings {word}"
    if name in {"deploy.stack_policy", "deploy.preflight", "deploy.postflight"}:
        environment = next((word for before, word in pairwise(arguments) if before in _SETTINGS), "")
        if not stands_for(environment, set(environments())):
            yield f"samconfig.toml has no environment {environment}"
    if name in {"deploy.move", "deploy.restore"}:
        for table in [word for word in arguments if word.startswith("sagemaker-queue")]:
            yield from filter(None, [deployment.table_problem(table)])


def _module_of(typed: Typed) -> tuple[str, list[str]]:
    """The module of `deploy/` that a command runs, with its arguments; an empty name for any other program."""
    match typed.words[1:]:
        case ["-m", module, *arguments] if module.startswith("deploy."):
            return module, arguments
        case [script, *arguments] if script.startswith("deploy/"):
            return script.removesuffix(".py").replace("/", "."), arguments
        case _:
            return "", []


def _argument_problems(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """What a module's own parser has against arguments."""
    module = importlib.import_module(name)
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    if "parse_args" not in source:
        positions = [int(number) for number in re.findall(r"sys\.argv\[(\d)\]", source)]
        if len(arguments) != max(positions, default=0):
            yield f"{name} takes {max(positions, default=0)} arguments, not {len(arguments)}"
        return
    parse = argparse.ArgumentParser.parse_args

    def only_parse(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> argparse.Namespace:
        parse(parser, argv)
        raise _Parsed

    said = StringIO()
    try:
        with mock.patch.object(argparse.ArgumentParser, "parse_args", only_parse), redirect_stderr(said):
            module.main(list(arguments))
    except _Parsed:
        return
    except SystemExit:
        yield said.getvalue().strip().rpartition("error: ")[2]


_CHECKS: dict[str, Callable[[Deployment, Typed], Iterator[str]]] = {
    "make": _check_make,
    "sam": _check_sam,
    "aws": _check_aws,
    "python": _check_python,
}
