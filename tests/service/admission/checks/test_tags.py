"""All that is said of the tags of a request."""

from __future__ import annotations

import pytest

from headway_service.admission.checks.tags import errors
from headway_service.config.document import validate
from tests.service.admission.drafts import draft, tagged, told
from tests.service.world import P5

PRIORITY = {"default": 3, "maximum": 100}
TEAMS = {"low": {"maxPriority": 2}, "high": {"maxPriority": 100}}
CONFIGURATION = validate({"pools": {P5: {"size": 2}}, "priority": PRIORITY, "teams": TEAMS})
OPTS_OUT = validate({"pools": {P5: {"size": 2}}, "preemption": {"optOut": True}})
PREEMPTIBLE, PLAN_END = "headway:preemptible", "headway:stop-at-plan-end"
INTERVAL = "headway:checkpoint-interval-s"
PREEMPTIONS, RETRIES = "headway:max-preemptions", "headway:max-retries"
MISSPELT = "headway:preemptable"
LONG = "x" * 100
CUT = f"'{'x' * 39}"
"""What is shown of it."""


def count(number: int) -> list[tuple[str, str]]:
    return [(f"k{i}", "v") for i in range(number)]


ERRORS: list[tuple[str, list[tuple[str, str]], list[tuple[str, str]]]] = [
    ("no tags", [], []),
    ("as many as there may be", count(48), []),
    (
        "one more",
        count(49),
        [("Tags", "has 49 entries; the queue adds 2 to SageMaker's 50, so use at most 48")],
    ),
    (
        "two keys that stand more than once",
        [("b", "1"), ("a", "2"), ("b", "3"), ("c", "4"), ("a", "5"), ("b", "6")],
        [
            ("Tags", "holds the key 'a' twice; SageMaker takes a key once"),
            ("Tags", "holds the key 'b' twice; SageMaker takes a key once"),
        ],
    ),
    (
        "the keys of the queue and of AWS",
        [("a", "1"), ("headway:job", "2"), ("headway:attempt", "3"), ("Aws:x", "4")],
        [
            ("Tags[1].Key", "is 'headway:job', which the queue sets itself: remove it"),
            ("Tags[2].Key", "is 'headway:attempt', which the queue sets itself: remove it"),
            ("Tags[3].Key", "is 'Aws:x'; keys that begin with 'aws:' are AWS's own"),
        ],
    ),
    (
        "misspelt keys of the queue",
        [(MISSPELT, "false"), ("Priority", "7"), ("HEADWAY:Team", "low"), ("headway:x", "1"), ("prio", "1")],
        [
            ("Tags[0].Key", f"is '{MISSPELT}', which the queue does not read: did you mean 'headway:preemptible'?"),
            ("Tags[1].Key", "is 'Priority', which the queue does not read: did you mean 'priority'?"),
            ("Tags[2].Key", "is 'HEADWAY:Team', which the queue does not read: did you mean 'headway:team'?"),
            ("Tags[3].Key", "is 'headway:x', which the queue does not read: did you mean 'headway:team'?"),
        ],
    ),
    ("the highest priority", [("priority", "100")], []),
    (
        "a priority above the highest",
        [("a", "1"), ("priority", "101")],
        [("Tags[1].Value", "is '101'; a priority is a whole number from 0 to 100, higher goes first")],
    ),
    ("the highest priority of a team", [("team", "low"), ("priority", "2")], []),
    (
        "a priority above that of the team",
        [("team", "low"), ("priority", "3")],
        [("Tags[1].Value", "is '3'; a priority is a whole number from 0 to 2 for the team low, higher goes first")],
    ),
    (
        "a priority above that of a team that may have any",
        [("team", "high"), ("priority", "101")],
        [("Tags[1].Value", "is '101'; a priority is a whole number from 0 to 100, higher goes first")],
    ),
    (
        "two priorities, of which one is a long word",
        [("priority", "1"), ("headway:priority", LONG)],
        [
            ("Tags[1].Value", f"is {CUT}; a priority is a whole number from 0 to 100, higher goes first"),
            ("Tags", "gives two different priorities: keep one of 'priority', 'headway:priority'"),
        ],
    ),
    (
        "no priority at all",
        [("priority", "")],
        [("Tags[0].Value", "is ''; a priority is a whole number from 0 to 100, higher goes first")],
    ),
    ("preemptible", [(PREEMPTIBLE, "true")], []),
    (
        "preemptible in a long word",
        [(PREEMPTIBLE, LONG)],
        [("Tags[0].Value", f"is {CUT}; headway:preemptible is 'true' or 'false'")],
    ),
    (
        "not preemptible",
        [("a", "1"), (PREEMPTIBLE, "false")],
        [
            (
                "Tags[1].Value",
                "is 'false', but this queue lets no job opt out of preemption (preemption.optOut): remove the tag",
            )
        ],
    ),
    ("as many preemptions as the policy allows", [(PREEMPTIONS, "10")], []),
    (
        "fewer preemptions",
        [("a", "1"), (PREEMPTIONS, "9")],
        [
            (
                "Tags[1].Value",
                "is '9', but this queue lets no job opt out of preemption (preemption.optOut): remove the tag",
            )
        ],
    ),
    (
        "more preemptions",
        [(PREEMPTIONS, "11")],
        [("Tags[0].Value", "is '11'; it is a whole number from 0 to 10 (preemption.maxPerJob)")],
    ),
    (
        "preemptions in a long word",
        [(PREEMPTIONS, LONG)],
        [("Tags[0].Value", f"is {CUT}; it is a whole number from 0 to 10 (preemption.maxPerJob)")],
    ),
    ("no retries", [(RETRIES, "0")], []),
    ("all retries", [(RETRIES, "100")], []),
    ("too many retries", [(RETRIES, "101")], [("Tags[0].Value", "is '101'; it is a whole number from 0 to 100")]),
    ("retries in a long word", [(RETRIES, LONG)], [("Tags[0].Value", f"is {CUT}; it is a whole number from 0 to 100")]),
    ("the end of a plan", [(PLAN_END, "true")], []),
    ("not at the end of a plan", [(PLAN_END, "false")], []),
    (
        "the end of a plan in a long word",
        [("a", "1"), (PLAN_END, LONG)],
        [("Tags[1].Value", f"is {CUT}; headway:stop-at-plan-end is 'true' or 'false'")],
    ),
    (
        "an interval in a long word",
        [("a", "1"), (INTERVAL, LONG)],
        [("Tags[1].Value", f"is {CUT}; it is a number of seconds, from 1 to 2592000")],
    ),
    (
        "an interval without checkpoints",
        [("a", "1"), (INTERVAL, "60")],
        [("Tags[1].Key", f"is '{INTERVAL}', which needs a CheckpointConfig: add one, or remove the tag")],
    ),
]


@pytest.mark.parametrize(("tags", "expected"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_what_is_said_of_tags(tags: list[tuple[str, str]], expected: list[tuple[str, str]]) -> None:
    assert told(errors(draft(CONFIGURATION, **tagged(*tags)))) == expected


def test_a_tag_is_misspelt_only_if_the_queue_reads_the_one_that_was_meant() -> None:
    assert told(errors(draft(OPTS_OUT, **tagged(("Team", "a"), ("headway:team", "a"))))) == []


def test_a_misspelt_tag_of_a_job_in_the_queue_keeps_it_from_no_change() -> None:
    assert told(errors(draft(CONFIGURATION, priority=1, **tagged((MISSPELT, "false"))))) == []


def test_a_job_may_opt_out_of_preemption_if_the_queue_lets_it() -> None:
    assert told(errors(draft(OPTS_OUT, **tagged((PREEMPTIBLE, "false"))))) == []


@pytest.mark.parametrize(
    ("team", "priority", "expected"),
    [
        ("high", 100, ""),
        ("high", 101, "of the job is 101, and the highest is 100: lower it first, then change the job"),
        ("low", 2, ""),
        ("low", 3, "of the job is 3, and the highest for the team low is 2: lower it first, then change the job"),
    ],
)
def test_the_priority_of_a_job_counts_in_place_of_that_of_its_tags(team: str, priority: int, expected: str) -> None:
    tags = tagged(("team", team), ("priority", "9999"))
    found = told(errors(draft(CONFIGURATION, priority=priority, **tags)))
    assert found == ([("priority", expected)] if expected else [])
