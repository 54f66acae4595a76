"""A refusal names the option of a field that an option sets."""

from __future__ import annotations

import click
import pytest

from headway_client.cli.commands.jobs.submit import submit
from headway_client.cli.context import print_error
from headway_client.cli.field_options import OPTIONS, with_option
from headway_client.errors import FieldMessage, RefusedError


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("dependsOn[0].job", "dependsOn[0].job (--after)"),
        ("reuse", "reuse (--reuse)"),
        ("earlyStopping.metric", "earlyStopping.metric (--early-stopping)"),
        ("alternatives[1].ResourceConfig", "alternatives[1].ResourceConfig (--alternative)"),
        ("ResourceConfig.InstanceCount", "ResourceConfig.InstanceCount"),
    ],
)
def test_the_option_of_a_field_is_named(path: str, named: str) -> None:
    assert with_option(path) == named


def test_each_option_is_one_of_submit() -> None:
    options = {name for each in submit.params if isinstance(each, click.Option) for name in each.opts}
    assert set(OPTIONS.values()) <= options


def test_a_refusal_names_options_in_its_first_line_and_in_those_of_further_fields(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fields = [
        FieldMessage(field="dependsOn[0].job", message="is this job itself: name another one"),
        FieldMessage(field="atOnce", message="is 0"),
    ]
    message = "dependsOn[0].job is this job itself: name another one (and 1 more)"
    print_error(RefusedError(message, fields=fields))
    assert capsys.readouterr().err.splitlines() == [
        "headway: dependsOn[0].job (--after) is this job itself: name another one (and 1 more)",
        "  atOnce (--at-once): is 0",
    ]
