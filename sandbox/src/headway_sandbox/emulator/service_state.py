"""Patches of ministack: the state of its services is saved in the journal, and while it runs.

ministack saves each service to a file of its own, and only when it stops. Here all of them are documents of the
journal, so that one commit saves all or none. They are saved when the server stops, and shortly after a request that
may change more than items, training jobs, messages, metrics and logs (`changes_settings`).

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headway_sandbox.emulator.patches import module
from headway_sandbox.journal.journal import Journal

_COLLECTION = "services"
_SERVICE = re.compile(r"Credential=[^/\s]+/[^/]+/[^/]+/([^/]+)/")
_READS = ("BatchGet", "Describe", "Get", "List", "Lookup", "Query", "Scan", "Search")
_ITEM_CALLS = ("BatchExecute", "BatchWrite", "Execute", "DeleteItem", "PutItem", "Transact", "UpdateItem")
# Their requests change only what the journal has anyway, or what is lost with a kill: messages, metrics and logs.
_WITHOUT_SETTINGS = {"execute-api", "logs", "monitoring", "sagemaker", "sns", "sqs", "sts"}


def prepare(journal: Journal) -> None:
    """Apply the patches. Called once, after `patches.prepare`.

    Args:
        journal: the journal of the state directory.
    """
    app, persistence = module("app"), module("core.persistence")

    def save_state(service: str, data: Any) -> None:
        journal.put(_COLLECTION, service, json.dumps(data, default=persistence._json_default))

    def load_state(service: str) -> Any:
        saved = journal.read(_COLLECTION).get(service)
        return None if saved is None else json.loads(saved, object_hook=persistence._json_object_hook)

    persistence.save_state, app.load_state = save_state, load_state


def save(*services: str) -> None:
    """Add the current state of services to the journal's next commit; without arguments that of all services."""
    app = module("app")
    state = app._build_persistence_save_dict()
    module("core.persistence").save_all({key: get for key, get in state.items() if not services or key in services})


def changes_settings(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Return whether a request may change more than items, training jobs, messages, metrics and logs.

    Args:
        method: Its HTTP method.
        headers: Its headers by their names in lower case.
    """
    operation = headers.get("x-amz-target", "").rpartition(".")[2]
    service = service_of(headers)
    if not service or service in _WITHOUT_SETTINGS or method in {"GET", "HEAD"} or path.endswith("/invocations"):
        return False
    return not operation.startswith((*_READS, *_ITEM_CALLS, "PutEvents"))


def service_of(headers: Mapping[str, str]) -> str:
    """Return the service in the credential scope of a signed request; empty if there is none.

    Args:
        headers: The request's headers by their names in lower case.
    """
    found = _SERVICE.search(headers.get("authorization", ""))
    return found[1] if found else ""
