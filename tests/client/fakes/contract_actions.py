"""What operators have done, in the fake API: its pauses and resumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.client.fakes.contract_foresight import Reply

if TYPE_CHECKING:
    from tests.client.fakes.contract import Queue


def answer(queue: Queue, method: str, segments: list[str], query: dict[str, list[str]]) -> Reply | None:
    if (method, segments) != ("GET", ["actions"]):
        return None
    limit, after = int(query.get("limit", ["100"])[0]), int(query.get("after", ["0"])[0])
    shown = queue.actions[::-1][after : after + limit]
    left = len(queue.actions) > after + limit
    return 200, {"actions": shown, "next": str(after + limit) if left else None}


def record(queue: Queue, action: str, target: str, reason: str = "") -> None:
    """Record that the caller has done something."""
    done = f"user/ada {action}d {target}"
    queue.actions.append(
        {
            "time": "2026-11-21T10:00:00.000Z",
            "action": action,
            "target": target,
            "by": "user/ada",
            "address": "10.0.0.7",
            "reason": reason,
            "message": f"{done}: {reason}" if reason else done,
        }
    )
