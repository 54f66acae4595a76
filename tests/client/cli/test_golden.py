"""Command lines with their requests, output and exit codes, compared with the files in `golden`.

`HEADWAY_GOLDEN=write` rewrites the files; review the difference like code.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway_client.cli import simulator
from headway_client.cli.commands.local import sandbox
from headway_client.config.profile import Connection
from tests.client.command_line import Run
from tests.client.fakes.contract import Queue, request
from tests.client.fakes.log_store import LogStore
from tests.client.fakes.server import ContractServer
from tests.client.terminal import Terminal

FOLDER = Path(__file__).parent / "golden"

JOBS = """
queue
queue -o wide
queue -o csv
queue -o json
queue -ojson
queue --output=csv --all
queue --all
queue --all -o json
queue --state running
queue --state running --state pending
queue --state=completed
queue --mine --owner arn:x --team nlp --name bert --limit 3
queue --limit 1
ls --sort -priority,name -O name,age,limit,why
queue --sort=place -O name,instances,age -o csv
queue --state held
history -O name,run --sort -ended
queue --limit 1 -o csv
history
history -o wide
history -o csv
history -o json
history --state failed --mine --owner arn:x --team nlp --name bert --limit 3
history --since 2020-01-01
history --since 2020-01-01 -o csv
history --since 2020-01-01 --sort -lost -O name,lost,cost --name one
history --since 2020-01-01 --until 2027-01-01T08:00Z --state completed --mine --limit 1 -o json
usage
usage --from 2026-11-01
usage --by pool --from 2026-11-01 --to 2026-11-30 --step day -o wide
usage --by tag:project --from 2026-11-01 -o csv
usage --from 2026-11-01 -o json
usage --by owner --from 2026-11-01
compare done broke
compare done broke -o csv
report --month 2026-11
report --month 2026-11 -o csv
report --month 2026-11 --html month.html
show job1
show job1 -o wide
show job1 -o json
show nothing
show nothing -o json
results job1
results nothing -o json
why job1
why job1 -o json
forecast
forecast -o csv
forecast -o json
forecast job1 --limit 5
what-if --withdraw job1
what-if --priority job1=7 --pool ml.p5.48xlarge=3 --withdraw job2 --submit request.json --priority job1=8
what-if --withdraw job1 -o json
wait done --timeout 0
wait job1 --timeout 0
wait job1 done --timeout 0 -o json
wait done -o csv
logs ran
logs ran --host algo-2
logs ran --host algo-3
logs ran --tail 1 --host=algo-1
logs ran -o wide
logs ran -o csv
logs ran -o json
logs done --follow --tail 5
logs done -f --tail 1
logs job1
events
events --after 1 -o wide
events --after 1 -o csv
events --after 2 -o json
events --type Failed --job ran
events --after never
connect ran
connect debug --host algo-2
connect debug -o json
connect debug --host algo-3
version
version -o json
version --client
version --client --output json
--version
--output json version --client
--region eu-north-1 --profile nope queue
--endpoint queue queue
queue --region eu-north-1 -o json --limit 1
"""

CHANGES = """
submit request.json
submit request.json -o json
submit request.json --name x --priority 5 --set ResourceConfig.InstanceCount=2 --set Tags.team=nlp
submit --priority=0 request.json
submit request.json --alternative '{"ResourceConfig":{"InstanceCount":8}}' --wait-at-most 30m --portable-checkpoint
submit request.json --after job1 --after job2:any
submit request.json --sweep '{"grid":{"lr":[0.1,0.01]}}' --at-once 1 --max-failures 0
submit request.json --sweep sweep.yaml --after job1 -o json
submit request.json --sweep sweep.yaml --dry-run
submit request.json --wait-at-most 30m
submit request.json --alternative '[]'
submit request.json --dry-run
submit request.json --dry-run -o json
submit request.json --dry-run -o csv
submit many.jsonl
submit many.jsonl -o json
submit many.jsonl -o csv
submit many.jsonl request.json --dry-run
submit existing.json
submit finished.json --wait
submit refused.json
submit refused.json -o json
change job1 --limit 2h --instances 2
change job1 --limit soon
comment job1 new
comment job1 job2 ""
comment job1
stop job1
stop job2 --reason wrong
stop job1 job2 job1
stop job1 nothing -o json
stop job1 nothing -o csv
stop job1 nothing
stop --rogue wild
stop --rogue wild nothing -o json
priority job1 9
priority job1 9 -o json
priority job1 9 -o csv
cancel job2
hold job1
hold job1 ran
release job1
release job1 job2 -o csv
capacity
capacity -o wide
capacity -o csv
capacity -o json
teams
teams -o wide
teams -o csv
teams -o json
budgets
budgets -o wide
budgets -o csv
budgets -o json
config show
config show -o json
config set config.json --force --yes
config set config.json --if-version 1 --yes
config set config.json --if-version 7
config set config.json
pause
pause ml.p5.48xlarge
pause ml.p5.48xlarge --reason "new driver" -o json
resume
resume ml.p5.48xlarge -o csv
drain ml.p5.48xlarge
drain ml.p5.48xlarge --stop --wait --timeout 0 --reason why
drain ml.p5.48xlarge --wait --timeout=0 -o json
resize ml.p5.48xlarge 3
resize ml.p5.48xlarge 3 -o json
dlq show
dlq show -o json
dlq show -o csv
dlq redrive
dlq redrive -o json
forget arn:aws:iam::123456789012:user/ada --yes
forget arn:aws:iam::123456789012:user/ada --yes -o json
recount
recount -o json
recount --compare 2026-11-24
recount --compare 2026-11-24 --by owner
recount --compare 2026-11-24 --by owner -o json
recount --compare 2026-11-20
recount --repair 2026-11-23
recount --repair 2026-11-23 --yes
recount --repair 2026-11-23 --by owner --yes -o json
recount --repair 2026-11-23 --by team
recount --repair 2026-11-24 --yes
recount --repair 2026-11-22 --yes
recount --repair 2026-11-21 --yes
policy lint config.json
policy lint config.json -o json
policy lint rules.json
policy test rules.json --request request.json
policy test rules.json --request request.json --team a
policy test rules.json --request request.json -o json
sandbox up
sandbox up --port 4600 --speed 60 -o json
sandbox down
sandbox status
sandbox demo
rehearse train.py
rehearse train.py --times 0 --preempt-after 20s,50% --metric loss --tolerance 0.01 -o json -- --epochs 3
rehearse request.json --data train=rows --seed 3 --timeout 1h --stop-grace 5 --image *=python -o csv
rehearse train.py --source-dir src --step-regex s([0-9]+) --metric loss --metric-regex l([0-9]+)
simulate --trace t.csv --capacity p=4
simulate --trace t.csv --capacity p=4,q=1 --policy fifo,easy --limits 1,2.5 --nodes --stop-seconds 5 --checkpointing 0.5
simulate --trace t.csv --capacity p=4 --gpus --seed 3 --rows 9 --processes 2 --json f.json --picture f.svg -o json
"""

WRONG = r"""
fly
quueue
submit
submit /nowhere.json
submit bad.json
submit request.json --priority 10000
submit request.json --priority abc
submit request.json --dry-run --wait
submit many.jsonl --name x
submit - -
submit - --sweep -
submit request.json --at-once 2
submit request.json --sweep sweep.yaml --at-once 0
submit request.json --sweep {} -o json
submit many.jsonl --sweep sweep.yaml
results
results job1 --best
results job1 --minimize a --maximize b
results job1 --plot a -o csv
queue --state flying
queue --state running --all
queue --limit 0
queue -O age,nothing
queue -O age -o json
queue --sort -nothing
history -O=-age
queue --lim 5
queue extra
queue --watch 1
queue --watch -o json
queue -o xml
queue -o
queue --outp json
history --state pending
history --limit 10001
history --until 2026-11-01
history --since yesterday
history --since 2026-02-30
history --since 2026-11-01 -O place
compare done
compare done nothing
usage --by job --from 2026-11-01
usage --by tag: --from 2026-11-01
usage --from 2026-11-02 --to 2026-11-01
report --month november
forget arn:aws:iam::123456789012:user/ada
recount -o csv
recount --by team
recount --yes
recount --compare 2026-11-23 --repair 2026-11-23
show
show ..
show a b
why
forecast a b
forecast --limit 101
what-if
what-if --priority job1
what-if --priority job1=x
what-if --pool =3
wait
wait a --timeout -1
logs
logs a --host 1
logs a --tail x
connect a --host algo-0
connect
stop
priority job1
priority job1 -1
priority job1 1.5
hold
release
config
config fly
config set
config set config.json --force --if-version 3
config set config.json --if-version x
config show -o csv
show job1 -o csv
version -o csv
pause a b
drain
drain pool --timeout 3
resize pool
resize pool 10001
dlq
dlq redrive -o csv
policy
policy lint
policy test config.json
sandbox
sandbox up --speed 0
sandbox up --port 65536
rehearse
rehearse missing.json
rehearse request.json --source-dir src
rehearse request.json -- --epochs 3
rehearse train.py --times 21
rehearse train.py --timeout 13h
rehearse train.py --tolerance -1
rehearse train.py --tolerance nan
rehearse train.py --data rows
simulate
simulate --trace t.csv
simulate --trace t.csv --capacity p=4 --gpus --nodes
simulate --trace t.csv --capacity p=4 --checkpointing 2
simulate --trace t.csv --capacity p=4 --limits x
simulate --trace t.csv --capacity p=4 --rows 0
completion
completion csh
version --client=yes
doctor extra
"""

GROUPS = {"jobs": JOBS, "changes": CHANGES, "wrong_usage": WRONG}


def fill(queue: Queue) -> None:
    queue.feed.record("job1", "Entered", team="nlp")
    queue.feed.record("ran", "Failed", jobState="failed")
    queue.feed.record("wild", "OutsideTheQueue", trainingJobName="wild", trainingJobStatus="InProgress")
    queue.add("job1")
    queue.add("job2", priority=3, team="nlp", limitSeconds=5400)
    queue.add("ran", jobState="running", demand={"ml.p5.48xlarge": 2}, liveAttempt="ran", attempts=[attempt("ran")])
    queue.add(
        "debug", jobState="running", demand={"ml.p5.48xlarge": 2}, liveAttempt="debug", attempts=[attempt("debug")],
        request=request("debug") | {"RemoteDebugConfig": {"EnableRemoteDebug": True}},
    )  # fmt: skip
    queue.add("done", jobState="completed", endedTime="2026-01-02T05:00:00.000Z")
    queue.add("broke", jobState="failed", endedTime="2026-01-02T05:00:00.000Z")
    queue.bypass("wild")
    queue.teams = [
        {
            "team": "nlp", "weight": 1.5, "guaranteed": {"ml.p5.48xlarge": 1}, "limit": {"ml.p5.48xlarge": 4},
            "used": {"ml.p5.48xlarge": 2}, "borrowed": {"ml.p5.48xlarge": 1}, "waiting": {"ml.p5.48xlarge": 3},
        },
        {"team": "vision", "weight": 1, "guaranteed": {}, "limit": {}, "used": {}, "borrowed": {}, "waiting": {}},
    ]  # fmt: skip
    queue.budgets = [
        {
            "name": "nlp-month", "team": "nlp", "owner": None, "tag": None, "period": "month", "amount": 600,
            "granted": 50, "used": 650.4, "whenSpent": "hold", "spentUntil": "2026-02-01T00:00:00.000Z",
        },
        {
            "name": "ada", "team": None, "owner": "arn:aws:iam::123456789012:user/ada", "tag": None,
            "period": "7 days", "amount": 1000, "granted": 0, "used": 12.5, "whenSpent": "refuse", "spentUntil": None,
        },
    ]  # fmt: skip
    queue.bury()
    queue.settings["pools"]["ml.g5.xlarge"] = {"size": 4}


def attempt(name: str) -> dict[str, Any]:
    return {
        "attemptName": name, "number": 1, "attemptState": "live",
        "trainingJobStatus": "InProgress", "secondaryStatus": "Training",
        "startedTime": "2026-01-02T03:04:06.000Z", "endedTime": None, "failureReason": None, "reason": None,
    }  # fmt: skip


FILES: dict[str, Any] = {
    "request.json": request("new"),
    "existing.json": request("job1"),
    "finished.json": request("done"),
    "refused.json": request("x" * 70),
    "config.json": {"pools": {"ml.p5.48xlarge": {"size": 2}}},
    "rules.json": {
        "pools": {"ml.p5.48xlarge": {"size": 2}},
        "teams": {"a": {}, "b": {}},
        "rules": {"small": {"when": {"teams": ["a"]}, "require": {"maxRunTimeSeconds": 60}, "message": "ask Ada"}},
    },
}


class FakeSandbox:
    """A fake of the packages that the client loads from a checkout; it prints its calls."""

    class SandboxError(Exception):
        pass

    class SetupMissing(SandboxError):
        pass

    class WrongUsage(SandboxError):
        pass

    class NotRunning(SandboxError):
        pass

    class InvalidInput(Exception):
        pass

    def __getattr__(self, name: str) -> Callable[..., Any]:
        results: dict[str, Any] = {
            "parse_capacity": {"p": 4}, "read_trace": SimpleNamespace(source="t.csv"), "simulate_all": [],
            "rehearse": SimpleNamespace(
                document={"survives": False}, headers=["Preemption"], rows=[["SIGTERM"]], notes=["a note"], exit_code=1
            ),
            "table": "a table", "notes": ["a note"], "draw": "<svg/>", "main": 0, "down": True,
        }  # fmt: skip

        def call(*arguments: Any, **options: Any) -> Any:
            options.pop("report", None)
            shown = [each if isinstance(each, str | int | list) else type(each).__name__ for each in arguments]
            print(f"{name} {shown} {dict(sorted(options.items()))}")
            if name in {"up", "status"}:
                raise self.SandboxError("no sandbox here")
            return results.get(name)

        return call


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Create the files that the command lines name, logs, and fake packages of a checkout."""
    for name, document in FILES.items():
        Path(name).write_text(json.dumps(document))
    Path("bad.json").write_text("{,}")
    Path("sweep.yaml").write_text("random:\n  lr: {logUniform: [1e-4, 1e-1]}\ncount: 3\nseed: 7\n")
    Path("many.jsonl").write_text("".join(json.dumps(request(name)) + "\n" for name in ("a", "b", "x" * 70)))
    store = LogStore()
    store.write("ran/algo-1-1", 1_767_326_646_000, "one")
    store.write("ran/algo-2-1", 1_767_326_646_001, "two\x1b[2J")
    store.write("done/algo-1-1", 1_767_326_646_002, "=three")
    monkeypatch.setattr(Connection, "aws_client", lambda _, service: {"logs": store}[service])
    for module in (sandbox, simulator):
        monkeypatch.setattr(module, "import_module", lambda _: FakeSandbox())
    for name in ("jobs.wait", "operations.pool_operations", "jobs.logs"):
        monkeypatch.setattr(f"headway_client.cli.commands.{name}._pause", lambda _: None)


def compare(name: str, text: str) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("HEADWAY_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("group", GROUPS)
def test_a_command_line_has_its_recorded_calls_output_and_exit_code(run: Run, server: ContractServer, group: str):
    parts = []
    for line in GROUPS[group].removeprefix("\n").splitlines():
        server.queue = Queue()
        fill(server.queue)
        server.received.clear()
        code, out, err = run(*shlex.split(line))
        parts += [f"$ headway {line}".rstrip(), f"exit code {code}"]
        parts += [f"request: {each.method} {each.target} {each.body.decode()}".rstrip() for each in server.received]
        parts += [f"| {part}".rstrip() for part in out.replace("\r\n", "\\r\n").splitlines()]
        parts += [f"! {part}".rstrip() for part in err.splitlines()]
        parts.append("")
    compare(group, "\n".join(parts).replace(server.endpoint, "ENDPOINT").replace(str(Path.home()), "HOME"))


def interface(run: Run, *path: str) -> list[str]:
    """Return the commands and options of a command and its subcommands from the help."""
    code, out, err = run(*path, "--help")
    assert (code, err) == (0, "")
    # An option may be listed as `-o, --output`, with a value after either.
    options = re.findall(r"^ {2,4}(-[^\n]*?)(?: {2,}|\n)", out, re.MULTILINE)
    names = sorted({name for line in options for name in re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", line)})
    lines = [f"headway {' '.join(path)}".rstrip() + ": " + " ".join(names)]
    if ("ACTION" if path else "COMMAND") in out.partition("\n\n")[0]:
        for name in commands(out):
            lines += interface(run, *path, name)
    return lines


def commands(text: str) -> list[str]:
    # After the options come the commands, in one section or several, and then the epilog.
    listed = text.partition("--help")[2]
    return re.findall(r"^  ([a-z][a-z-]*)(?: {2}|$)", listed, re.MULTILINE)


def test_the_help_has_the_recorded_commands_and_options(run: Run):
    compare("interface", "\n".join(interface(run)) + "\n")


@pytest.mark.parametrize("arguments", [["queue"], ["queue", "-o", "csv", "-O", "name"], ["history"]], ids=" ".join)
@pytest.mark.usefixtures("endpoint_set")
def test_a_terminal_has_colors_unless_no_color_says_otherwise(arguments: list[str], server: ContractServer):
    fill(server.queue)
    seen = []
    for setting in ("", "1"):
        terminal = Terminal(*arguments, NO_COLOR=setting)
        assert terminal.close() == 0
        seen.append(terminal.seen)

    assert ("\x1b[" in seen[0]) == ("csv" not in arguments)
    assert "\x1b" not in seen[1]
    assert re.sub(r"\x1b\[\d+m", "", seen[0]) == seen[1]
