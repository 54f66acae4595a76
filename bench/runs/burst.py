"""Many submissions from many clients at once, on a sandbox: what becomes of each, and how many passes that costs.

Each client retries until the response is more than "not now", as clients of the queue do. The deployment's own
limits apply: the rate of the API, the length of the queue. They are set so that the last submissions are refused.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

from bench.peers.headway import shared
from bench.runs.long_sandbox_queues import SandboxQueue
from headway_client.errors import BusyError, ClientError, ConflictError
from headway_client.http.api import HeadwayApi

ROOM = 0.95
"""The approximate number of accepted submissions: concurrent ones do not see each other."""
LOOK_S = 0.25
_MOST_PAUSE_S = 1.0
_WARM_UPS = 2


@dataclass
class Answers:
    """The responses to clients. Several threads write to it, each by one call.

    Attributes:
        accepted: names, with when that was answered, s.
        refused: names of jobs with the sentence of the refusal.
        lost: names with what else happened.
        throttles: the number of throttled calls, by status.
    """

    accepted: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    throttles: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def submit(self, user: HeadwayApi, rng: Random, request: dict[str, Any]) -> None:
        """Submit a job until that is answered."""
        name = request["TrainingJobName"]
        while True:
            try:
                user.submit(request, idempotency_key=name)
            except BusyError as error:
                with self._lock:
                    self.throttles[str(error.status)] += 1
                time.sleep(rng.uniform(0, _MOST_PAUSE_S))
            except ConflictError as error:
                self.refused[name] = error.message
                return
            except ClientError as error:
                self.lost[name] = str(error)
                return
            else:
                self.accepted[name] = time.time()
                return


class WakeQueue:
    """Polls the wake queue in a separate thread, while its `with` block runs.

    Attributes:
        looks: the times, s, with the number of wake-ups, including those in progress.
    """

    def __init__(self, queue: SandboxQueue) -> None:
        self._sqs = queue.sandbox.client("sqs")
        self._url = next(url for url in self._sqs.list_queues().get("QueueUrls", []) if url.endswith("-wake.fifo"))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.looks: list[tuple[float, int]] = []

    def __enter__(self) -> WakeQueue:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        while not self._over.wait(LOOK_S):
            counts = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=names)["Attributes"]
            self.looks.append((time.time(), sum(int(counts[name]) for name in names)))


def oldest_age_s(sent_s: Sequence[float], left: int, now_s: float) -> float:
    """The age of the oldest message of a FIFO queue with this many messages left, s.

    Args:
        sent_s: when each message was sent, ascending; about when, so there may be more left than were sent.
        left: how many there are.
        now_s: now.
    """
    sent = bisect_right(sent_s, now_s)
    return now_s - sent_s[max(0, sent - left)] if left and sent else 0.0


def measure(jobs: int, clients: int) -> dict[str, Any]:
    """A burst on a separate sandbox, whose instances are all in use.

    Args:
        jobs: how many are submitted.
        clients: the number of concurrent clients.
    """
    with SandboxQueue(waiting_limit=int(jobs * ROOM)) as queue:
        requests = [queue.request() for _ in range(jobs)]
        # One try each: throttled calls are counted here, and retried.
        users = [queue.patient_client(tries=1) for _ in range(clients)]
        answers = Answers()
        shared([partial(_warm_up, user) for user in users], range(_WARM_UPS * clients))
        queue.come_to_rest()
        began, began_s = datetime.now(UTC), time.time()
        with WakeQueue(queue) as wakes:
            took_s = shared(
                [partial(answers.submit, user, Random(number)) for number, user in enumerate(users)], requests
            )
            queue.come_to_rest()
        passes = queue.passes_since(began)
        return found(
            answers,
            listed=queue.waiting_names(),
            looks=wakes.looks,
            passes=passes,
            began_s=began_s,
            took_s=took_s,
            requests=requests,
        ) | {"clients": clients}


def found(
    answers: Answers,
    *,
    listed: set[str],
    looks: Sequence[tuple[float, int]],
    passes: int,
    began_s: float,
    took_s: float,
    requests: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The figures.

    Args:
        answers: the responses to clients.
        listed: the names of all that wait afterwards.
        looks: see :class:`WakeQueue`.
        passes: how many the scheduler made.
        began_s: when the burst began.
        took_s: how long it took.
        requests: the submitted requests.
    """
    names = {request["TrainingJobName"] for request in requests}
    sent_s = sorted(answers.accepted.values())
    untold = names - answers.accepted.keys() - answers.refused.keys()
    refusals = Counter(
        "limits." + reason.partition("limits.")[2].partition(")")[0] for reason in answers.refused.values()
    )
    return {
        "submissions": len(requests),
        "accepted": len(answers.accepted),
        "refused": dict(refusals),
        "lost": sorted(untold | (answers.accepted.keys() - listed))[:10],
        "kept though refused": sorted(answers.refused.keys() & listed)[:10],
        "throttles": dict(answers.throttles),
        "seconds": round(took_s, 1),
        "submissionsASecond": round(len(requests) / took_s, 1),
        "passes": passes,
        "wakesAPass": round(len(answers.accepted) / passes, 1) if passes else 0.0,
        "mostWakesWaiting": max((left for _, left in looks), default=0),
        "oldestWakeSeconds": round(max((oldest_age_s(sent_s, left, at_s) for at_s, left in looks), default=0.0), 1),
        "secondsUntilNoWakeWaits": round(max((at_s for at_s, left in looks if left), default=began_s) - began_s, 1),
    }


def _warm_up(user: HeadwayApi, _: int) -> None:
    try:
        user.version()
    except BusyError:
        time.sleep(_MOST_PAUSE_S)
