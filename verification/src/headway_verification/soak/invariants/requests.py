"""What must hold of requests: each is there as long as its job may need it, and is forgotten with that."""

from __future__ import annotations

from headway.lifecycle import TERMINAL
from headway_service.forgetting.sums import FORGOTTEN
from headway_service.store.records.job import request_key
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.violations import Violated


def check_requests(table: MemoryTable) -> None:
    """Compare the requests with the jobs, after all changes were accounted for.

    Raises:
        Violated: a job has no request, or that may be forgotten before the job or stays when the job is forgotten.
    """
    for item in table.items():
        is_member = "memberOf" in item.get("summary", {})
        if item["sk"] != "job" or (is_member and not item.get("hasOwnRequest")):
            # Those of members are kept with their arrays.
            continue
        if item.get("owner") == FORGOTTEN:
            # With the owner, the queue forgets the request.
            continue
        request = table.get(request_key(item["jobName"]))
        if request is None:
            raise Violated(f"{item['jobName']} has no request")
        expected = item["expiresAt"] if item["jobState"] in TERMINAL else None
        if request.get("expiresAt") != expected:
            raise Violated(f"the request of {item['jobName']} expires at {request.get('expiresAt')}, not at {expected}")
