"""The table as template.yaml makes it."""

from __future__ import annotations

from typing import Any

from headway_service.ports.table import LISTED

SCHEMA: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "listing", "listingKey")
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "listing",
            "KeySchema": [
                {"AttributeName": "listing", "KeyType": "HASH"},
                {"AttributeName": "listingKey", "KeyType": "RANGE"},
            ],
            # As in template.yaml: a listing leaves out the history and the ended attempts.
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(LISTED)},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
