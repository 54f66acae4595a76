"""Run with the sandbox's Python: performs writes and queries on a table of ministack, and answers each query twice.

Each line of the input is a JSON list of steps, each line of the output the list of answers to its queries: that of the
sandbox, and that of ministack alone.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from headway_sandbox.emulator import dynamodb as emulated_queries
from headway_sandbox.emulator import patches

TABLE = "table"


def main() -> None:
    dynamodb = patches.module("services.dynamodb")
    alone = dynamodb._query
    emulated_queries.prepare()
    for line in sys.stdin:
        _make_table(dynamodb)
        answers = []
        for step, asked in json.loads(line):
            request = {"TableName": TABLE, **asked}
            if step == "query":
                answers.append([_answer(query(request)) for query in (dynamodb._query, alone)])
            else:
                status, _, body = getattr(dynamodb, f"_{step}_item")(request)
                assert status == 200, body
        print(json.dumps(answers), flush=True)


def _make_table(dynamodb: Any) -> None:
    dynamodb._delete_table({"TableName": TABLE})
    attributes = [{"AttributeName": name, "AttributeType": kind} for name, kind in zip("psgn", "SSSN", strict=True)]
    index = {"Projection": {"ProjectionType": "ALL"}, "KeySchema": _keys("g", "n"), "IndexName": "index"}
    status, _, body = dynamodb._create_table(
        {
            "TableName": TABLE,
            "AttributeDefinitions": attributes,
            "KeySchema": _keys("p", "s"),
            "GlobalSecondaryIndexes": [index],
            "BillingMode": "PAY_PER_REQUEST",
        }
    )
    assert status == 200, body


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def _answer(response: tuple[int, Any, Any]) -> list[Any]:
    status, _, body = response
    return [status, json.loads(body)]


if __name__ == "__main__":
    main()
