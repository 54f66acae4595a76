from __future__ import annotations

import pytest

from headway_client.errors import UsageError
from headway_client.request_tags import has_priority, with_priority


@pytest.mark.parametrize(
    ("tags", "after"),
    [
        (None, []),
        ([], []),
        ([{"Key": "team", "Value": "a"}], [{"Key": "team", "Value": "a"}]),
        ([{"Key": "priority", "Value": "1"}], []),
        ([{"Key": "headway:priority", "Value": "1"}, {"Key": "priority", "Value": "2"}], []),
        ([{"Key": "Priority", "Value": "1"}, "odd"], [{"Key": "Priority", "Value": "1"}, "odd"]),
    ],
)
def test_a_priority_takes_the_place_of_any_other_priority_tag(tags: list[object] | None, after: list[object]):
    request = {"TrainingJobName": "a"} if tags is None else {"TrainingJobName": "a", "Tags": tags}

    assert with_priority(request, 0)["Tags"] == [*after, {"Key": "priority", "Value": "0"}]
    assert request.get("Tags") == tags
    assert has_priority(request) is (len(after) < len(tags or []))


def test_tags_other_than_a_list_can_not_be_extended():
    with pytest.raises(UsageError, match="Tags has to be a list"):
        with_priority({"Tags": {"priority": "1"}}, 5)
