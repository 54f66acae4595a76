"""Group the refused requests of a batch by reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway_client.errors import ClientError
from headway_client.models import BatchResult

MAX_LISTED_PLACES = 20
"""Maximum number of requests that are listed for one reason."""

_ANY_NAME = "NAME"


@dataclass(frozen=True, kw_only=True)
class RefusalGroup:
    """Requests that were refused for the same reason, in their order.

    Attributes:
        error: the error of the first one.
        indexes: the positions of the requests.
    """

    error: ClientError
    indexes: Sequence[int]


def refusal_groups(results: Iterable[BatchResult]) -> list[RefusalGroup]:
    """Return the refusals grouped by reason, in the order of the first request of each group."""
    groups: dict[object, tuple[ClientError, list[int]]] = {}
    for result in results:
        if result.error is not None:
            groups.setdefault(_reason(result.name, result.error), (result.error, []))[1].append(result.index)
    return [RefusalGroup(error=error, indexes=indexes) for error, indexes in groups.values()]


def places_line(places: Sequence[str]) -> str:
    """Return the places of a group's requests on one line."""
    more = len(places) - MAX_LISTED_PLACES
    return "; ".join(places[:MAX_LISTED_PLACES]) + (f"; and {more} more" if more > 0 else "")


def _reason(name: str, error: ClientError) -> object:
    # Messages quote the name of the job, which differs in each request.
    def general(text: str) -> str:
        return text.replace(name, _ANY_NAME) if name else text

    return (error.code, general(error.message), tuple((each.field, general(each.message)) for each in error.fields))
