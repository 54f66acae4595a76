"""What CloudFormation makes of a template's functions, conditions and names, as far as policies have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

NO_VALUE = object()

_ARNS = {
    "AWS::DynamoDB::Table": "dynamodb:{place}:table/{TableName}",
    "AWS::Events::EventBus": "events:{place}:event-bus/{Name}",
    "AWS::Events::Rule": "events:{place}:rule/{made}",
    "AWS::Lambda::Function": "lambda:{place}:function:{made}",
    "AWS::Logs::LogGroup": "logs:{place}:log-group:{LogGroupName}:*",
    "AWS::SNS::Topic": "sns:{place}:{TopicName}",
    "AWS::SQS::Queue": "sqs:{place}:{QueueName}",
    "AWS::Serverless::Function": "lambda:{place}:function:{made}",
}
_NAMED_BY = {"AWS::DynamoDB::Table": "TableName", "AWS::Events::EventBus": "Name", "AWS::SSM::Parameter": "Name"}
_IDS = {"AWS::ApiGateway::RestApi": "abcdefghij", "AWS::Serverless::Api": "abcdefghij"}
_SUFFIXES = {"StreamArn": "/stream/2026-01-01T00:00:00.000", "Arn": ""}
_MAX_MADE_CHARS = 64
"""Of the names that CloudFormation makes for functions, roles and rules."""


class _LongForms(yaml.SafeLoader):
    """Reads `!Ref X` as `{"Ref": "X"}`, and so on."""


def _long_form(loader: Any, name: str, node: yaml.Node) -> Any:
    match node:
        case yaml.ScalarNode():
            argument: Any = loader.construct_scalar(node)
        case yaml.SequenceNode():
            argument = loader.construct_sequence(node, deep=True)
        case _:
            argument = loader.construct_mapping(node, deep=True)
    if name == "GetAtt" and isinstance(argument, str):
        argument = argument.split(".", 1)
    return {name if name in {"Ref", "Condition"} else f"Fn::{name}": argument}


_LongForms.add_multi_constructor("!", _long_form)


def read_template(path: Path) -> dict[str, Any]:
    """Return a template with its functions in the long form."""
    template: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), _LongForms)  # noqa: S506 - a SafeLoader
    return template


class NotResolved(Exception):
    """A template has what the resolver does not know."""


@dataclass(frozen=True)
class Place:
    """Where a stack is deployed to."""

    stack: str
    partition: str
    region: str
    account: str


@dataclass(frozen=True)
class Resolver:
    """Resolves parts of a template. What AWS chooses (ids, ends of names) has the length that it has on AWS.

    Attributes:
        template: before or after the transform of SAM, with functions in the long form.
        parameters: the values that the stack will have.
        place: of the stack.
    """

    template: Mapping[str, Any]
    parameters: Mapping[str, str]
    place: Place

    @cached_property
    def holding(self) -> frozenset[str]:
        """The conditions that are true."""
        conditions = self.template.get("Conditions", {})
        return frozenset(name for name, condition in conditions.items() if self._holds(condition))

    def resolve(self, part: Any) -> Any:
        """Return a part without functions.

        Raises:
            NotResolved: it has a function, a name or an attribute that is unknown here.
        """
        match part:
            case {"Ref": str(name)}:
                return self._ref(name)
            case dict() if [key for key in part if str(key).startswith("Fn::")]:
                (call,) = part.items()
                return self._call(*call)
            case dict():
                found = {key: self.resolve(value) for key, value in part.items()}
                return {key: value for key, value in found.items() if value is not NO_VALUE}
            case list():
                return [value for value in map(self.resolve, part) if value is not NO_VALUE]
            case _:
                return part

    def _call(self, function: str, arguments: Any) -> Any:
        match function, arguments:
            case "Fn::If", [condition, yes, no]:
                return self.resolve(yes if condition in self.holding else no)
            case "Fn::GetAtt", [name, attribute]:
                return self._attribute(name, attribute)
            case "Fn::Sub", [str(text), names]:
                return self._sub(text, self.resolve(names))
            case "Fn::Sub", str(text):
                return self._sub(text, {})
            case "Fn::Join", [between, parts]:
                return between.join(self.resolve(parts))
            case "Fn::Split", [between, text]:
                return self.resolve(text).split(between)
            case "Fn::Select", [index, parts]:
                return self.resolve(parts)[int(index)]
            case _:
                raise NotResolved(f"{function} is not known here.")

    def parameters_in(self, part: Any) -> tuple[str, ...]:
        """Return the parameters that a part names, as far as they have values, sorted."""
        return tuple(sorted({name for name in self._names(part) if self.parameters.get(name)}))

    def _holds(self, condition: Any) -> bool:
        match condition:
            case {"Fn::Equals": [one, other]}:
                return str(self.resolve(one)) == str(self.resolve(other))
            case {"Fn::Not": [one]}:
                return not self._holds(one)
            case {"Fn::And": several}:
                return all(map(self._holds, several))
            case {"Fn::Or": several}:
                return any(map(self._holds, several))
            case {"Condition": str(name)}:
                return self._holds(self.template["Conditions"][name])
            case _:
                raise NotResolved(f"The condition {condition} is not known here.")

    def _ref(self, name: str) -> Any:
        place = self.place
        pseudo: dict[str, Any] = {
            "AWS::NoValue": NO_VALUE,
            "AWS::StackName": place.stack,
            "AWS::Partition": place.partition,
            "AWS::Region": place.region,
            "AWS::AccountId": place.account,
            "AWS::URLSuffix": "amazonaws.com.cn" if place.partition == "aws-cn" else "amazonaws.com",
        }
        if name in pseudo:
            return pseudo[name]
        if name in self.template["Parameters"]:
            value = self.parameters[name]
            return value.split(",") if self.template["Parameters"][name]["Type"] == "CommaDelimitedList" else value
        kind, properties = self._resource(name)
        if kind in _NAMED_BY:
            return self.resolve(properties[_NAMED_BY[kind]])
        if kind in _IDS:
            return _IDS[kind]
        if kind == "AWS::SNS::Topic":
            return self._attribute(name, "Arn")
        raise NotResolved(f"What !Ref {name} is, a {kind}, is not known here.")

    def _attribute(self, name: str, attribute: str) -> str:
        kind, properties = self._resource(name)
        if kind not in _ARNS or attribute not in _SUFFIXES:
            raise NotResolved(f"{name}.{attribute}, of a {kind}, is not known here.")
        place = self.place
        names = {key: self.resolve(value) for key, value in properties.items() if key.endswith("Name")}
        made = f"{place.stack}-{name}"[: _MAX_MADE_CHARS - 13] + "-ABCDEFGHIJKL"
        where = f"{place.region}:{place.account}"
        return f"arn:{place.partition}:{_ARNS[kind].format(place=where, made=made, **names)}{_SUFFIXES[attribute]}"

    def _resource(self, name: str) -> tuple[str, Mapping[str, Any]]:
        if name not in self.template["Resources"]:
            raise NotResolved(f"{name} is neither a parameter nor a resource.")
        resource = self.template["Resources"][name]
        return resource["Type"], resource.get("Properties", {})

    def _sub(self, text: str, names: Mapping[str, Any]) -> str:
        def value(found: re.Match[str]) -> str:
            name, _, attribute = found[1].partition(".")
            if name in names:
                return str(names[name])
            return str(self._attribute(name, attribute) if attribute else self._ref(name))

        return re.sub(r"\$\{([\w:.]+)\}", value, text)

    def _names(self, part: Any) -> Iterator[str]:
        match part:
            case {"Ref": str(name)}:
                yield name
            case {"Fn::Sub": str(text)}:
                yield from re.findall(r"\$\{([\w:]+)", text)
            case dict():
                for value in part.values():
                    yield from self._names(value)
            case list():
                for value in part:
                    yield from self._names(value)
            case _:
                pass
