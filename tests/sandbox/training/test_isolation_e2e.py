"""Hostile scripts, in each isolation: they see nothing of this machine's user, harm nothing, and leave nothing."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from uuid import uuid4

import pytest

from headway_sandbox.training.container.limits import MAX_PROCESSES
from headway_sandbox.training.platform.output_lines import MAX_OUTPUT_BYTES
from tests.sandbox.training.conftest import MEMORY_BYTES
from tests.sandbox.training.jobs import Jobs, processes_with
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e


def files_of(jobs: Jobs) -> list[str]:
    folder = jobs.sb.state_dir / "training"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_script_has_no_privileges_and_cannot_get_any(isolated: Jobs):
    script = """
import json, os, subprocess
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
tried = {}
for name, command in {
    "mount": ["mount", "-t", "tmpfs", "none", "/tmp"],
    "remount": ["mount", "-o", "remount,rw", "/usr"],
    "chroot": ["chroot", "/tmp"],
    "hostname": ["hostname", "other"],
    "su": ["su", "-c", "true"],
}.items():
    try:
        tried[name] = subprocess.run(command, capture_output=True).returncode
    except OSError as error:
        tried[name] = error.errno
for path in ("/usr/x", "/etc/x", "/x", "/proc/sys/kernel/hostname"):
    try:
        open(path, "w").close()
        tried[path] = 0
    except OSError as error:
        tried[path] = error.errno
print(json.dumps([{name: int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs")}, tried]))
"""
    isolated.run("privileges", script)
    capabilities, tried = json.loads(isolated.log("privileges")[0])
    assert capabilities == {"CapEff": 0, "CapPrm": 0, "CapBnd": 0, "NoNewPrivs": 1}
    assert [name for name, code in tried.items() if code == 0] == []


def test_a_script_sees_no_files_processes_or_variables_of_the_user(isolated: Jobs, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o644)
    watched = [str(secret), str(isolated.sb.state_dir), str(Path.home() / ".aws"), str(Path.home() / ".ssh"), "/home"]
    script = f"""
import getpass, json, os
print(json.dumps([
    [path for path in {watched!r} if os.path.exists(path)],
    [entry for entry in os.listdir("/proc") if entry.isdigit() and entry != str(os.getpid())],
    sorted(os.environ), os.environ["HOME"], getpass.getuser(),
]))
"""
    isolated.run("sees", script)
    files, processes, variables, home, user = json.loads(isolated.log("sees")[0])
    assert (files, processes, home, user) == ([], [], "/tmp", "root")
    assert set(variables) & {"PYTHONPATH", "SSH_AUTH_SOCK", "HEADWAY_ENDPOINT", "GATEWAY_PORT"} == set()


def test_a_script_has_the_permissions_of_its_role_only(isolated: Jobs):
    script = f"""
import json, os, urllib.error, urllib.request
import boto3
from botocore.exceptions import ClientError
def code(call):
    try:
        call()
        return "allowed"
    except ClientError as error:
        return str(error.response["ResponseMetadata"]["HTTPStatusCode"])
    except urllib.error.HTTPError as error:
        return str(error.code)
endpoint = os.environ["AWS_ENDPOINT_URL"]
def get(path, access_key=""):
    signature = "AWS4-HMAC-SHA256 Credential=" + access_key + "/20260101/eu-west-1/s3/aws4_request"
    headers = {{"Authorization": signature}} if access_key else {{}}
    return lambda: urllib.request.urlopen(urllib.request.Request(endpoint + path, headers=headers))
own = os.environ["AWS_ACCESS_KEY_ID"]
print(json.dumps({{
    "own bucket": code(lambda: boto3.client("s3").list_objects_v2(Bucket={isolated.sb.info.bucket!r})),
    "large upload": code(lambda: boto3.client("s3").put_object(
        Bucket={isolated.sb.info.bucket!r}, Key="large", Body=b"x" * 3_000_000)),
    "other service": code(lambda: boto3.client("iam").list_users()),
    "as root": code(get("/{isolated.sb.info.bucket}", {isolated.sb.info.access_key!r})),
    "controls": code(get("/_headway/health")),
    "controls, signed": code(get("/_headway/health", own)),
    "emulator, signed": code(get("/_ministack/health", own)),
}}))
"""
    isolated.run("role", script)
    assert json.loads(isolated.log("role")[0]) == {
        "own bucket": "allowed",
        "large upload": "allowed",
        "other service": "403",
        "as root": "403",
        "controls": "403",
        "controls, signed": "403",
        "emulator, signed": "403",
    }


def test_a_script_reaches_no_network(isolated: Jobs):
    with socket.create_server(("127.0.0.1", 0)) as other:
        script = f"""
import socket
for address in (("127.0.0.1", {other.getsockname()[1]}), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, timeout=2)
        print("reached", address)
    except OSError as error:
        print(type(error).__name__)
"""
        isolated.run("network", script)
        assert isolated.log("network") == ["ConnectionRefusedError", "OSError"]


def test_daemons_of_a_script_end_with_it(isolated: Jobs):
    script = """
import subprocess, sys
print("mark-" + "of-daemon")
for _ in range(3):
    daemon = "import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(600)"
    subprocess.Popen(
        [sys.executable, "-c", daemon, "mark-" + "of-daemon"],
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ).wait()
"""
    assert isolated.run("daemons", script)["TrainingJobStatus"] == "Completed"
    until(lambda: not processes_with("mark-of-daemon"))
    assert files_of(isolated) == []


def test_links_and_devices_are_not_uploaded(isolated: Jobs):
    script = """
import os
os.symlink("/etc/passwd", "/opt/ml/model/link")
os.symlink("/", "/opt/ml/model/folder")
os.mkfifo("/opt/ml/model/fifo")
os.mkdir("/opt/ml/model/closed")
os.chmod("/opt/ml/model/closed", 0)
open("/opt/ml/model/file", "w").write("x")
os.rename("/opt/ml/output", "/opt/ml/moved")
os.symlink("/etc", "/opt/ml/output")
raise SystemExit(1)
"""
    reason = isolated.run("links", script)["FailureReason"]
    assert reason == "AlgorithmError: algo-1 wrote no /opt/ml/output/failure. Its last line: none, exit code: 1"
    assert isolated.archive("links") == {"file": b"x"}
    assert files_of(isolated) == []


def test_a_script_that_fills_its_disk_fails_and_leaves_nothing(isolated: Jobs):
    script = """
import time
for number in range(1000):
    with open(f"/tmp/{number}", "wb") as file:
        file.write(b"x" * 2**20)
    time.sleep(0.01)
"""
    reason = isolated.run("disk", script)["FailureReason"]
    assert "No space left on device" in reason
    assert files_of(isolated) == []


def test_a_job_whose_processes_use_more_memory_than_a_host_has_fails_and_others_continue(isolated: Jobs):
    isolated.start("beside", "import time; time.sleep(8); print('done')")
    script = f"""
import os, time
os.fork()
held = []
while len(held) < {2 * MEMORY_BYTES // 2**24}:
    held.append(bytearray(b"x") * 2**24)
    time.sleep(0.05)
time.sleep(600)
"""
    reason = isolated.run("memory", script)["FailureReason"]
    assert reason.startswith(f"AlgorithmError: algo-1 used more than the {MEMORY_BYTES} bytes of memory")
    assert reason.endswith("Out of memory, exit code: 137")
    assert isolated.end("beside")["TrainingJobStatus"] == "Completed"
    assert isolated.log("beside") == ["done"]
    assert files_of(isolated) == []


def test_binary_and_endless_output_is_read_and_dropped(isolated: Jobs):
    script = """
import os
os.write(1, bytes(range(256)) + b"\\n")
piece = b"x" * 2**20
for _ in range(64):
    os.write(1, piece)
"""
    assert isolated.run("prints", script)["TrainingJobStatus"] == "Completed"
    lines = isolated.log("prints")
    assert sum(map(len, lines)) < 1.1 * MAX_OUTPUT_BYTES
    assert lines[-1].startswith("The sandbox keeps ")


def test_the_number_of_processes_is_limited(isolated: Jobs):
    script = "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC)[0])"
    isolated.run("limits", script)
    assert isolated.log("limits") == ["1024"]


def test_a_script_that_forks_without_end_reaches_its_limit_and_others_continue(jobs: Jobs):
    """Not in a user namespace of root, whose number of processes the kernel does not limit."""
    jobs.start("beside-forks", "import time; time.sleep(5); print('done')")
    script = """
import os, time
forked = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(600)
    except BlockingIOError:
        break
    forked += 1
print(forked)
"""
    assert jobs.run("forks", script)["TrainingJobStatus"] == "Completed"
    assert 500 < int(jobs.log("forks")[-1]) <= MAX_PROCESSES
    assert jobs.end("beside-forks")["TrainingJobStatus"] == "Completed"


def test_files_of_the_machine_are_as_before(isolated: Jobs):
    # A name of its own: other programs leave files in the machine's folder of temporary files.
    name = f"headway-{uuid4().hex}"
    written = (f"/opt/ml/{name}", f"/tmp/{name}")
    isolated.run("writes", f"for path in {written}: open(path, 'w').close()\nprint('written')")
    assert isolated.log("writes") == ["written"]
    assert [path for path in written if Path(path).exists()] == []
