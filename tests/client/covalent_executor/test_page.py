"""The example of docs/how-to/clients/covalent.md makes its workflow."""

from __future__ import annotations

from typing import Any

from tests.client.pages import example, headings

PAGE = "docs/how-to/clients/covalent.md"


def test_each_step_of_the_example_is_in_its_pool():
    assert headings(PAGE) == ["A workflow on two pools"]
    names: dict[str, Any] = {}
    exec(example(PAGE, "A workflow on two pools"), names)
    workflow = names["sweep"]
    workflow.build_graph(5, [0.001, 0.3])
    nodes = workflow.transport_graph._graph.nodes.values()
    pools = [
        (node["name"], node["metadata"]["executor_data"]["attributes"]["instance_type"])
        for node in nodes
        if node["metadata"]["executor"] == "headway" and not node["name"].startswith(":")
    ]
    assert sorted(pools) == [
        ("best", "ml.m5.xlarge"),
        ("prepare", "ml.m5.xlarge"),
        ("train", "ml.g5.xlarge"),
        ("train", "ml.g5.xlarge"),
    ]
