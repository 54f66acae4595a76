from __future__ import annotations

import json

from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer


def test_capacity_is_shown(run: Run, server: ContractServer):
    code, out, _ = run("capacity")

    assert code == 0
    assert out.splitlines()[0].split("  ")[0] == "Pool"
    pool = json.loads(run("capacity", "-o", "json")[1])["pools"][0]
    assert pool["size"] == sum(pool[part] for part in ("allocated", "reserved", "rogue", "free"))
    assert out.splitlines()[2].split() == [pool["pool"], "2", "1", "1", "0", "1", "0", "7"]
    server.queue.settings = {"pools": {}}
    assert "headway config set" in run("capacity")[1]
