"""The ways out of a training job that we know: each is tried in each isolation, and none leads anywhere.

The script knows the administrator's key, as if it had found it: the key alone must not help either.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any
from uuid import uuid4

import pytest

from headway_sandbox.training.container.isolation import Isolation
from tests.sandbox.training.jobs import Jobs

pytestmark = pytest.mark.e2e

KEPT, MADE = "kept", "made-by-a-script"

TOOLS = """
import ctypes, http.client, json, os, socket, subprocess
from pathlib import Path
from urllib.parse import quote, urlsplit
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

known = json.loads(KNOWN)
endpoint = os.environ["AWS_ENDPOINT_URL"]
port = int(endpoint.rpartition(":")[2])
own = (os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"], os.environ["AWS_SESSION_TOKEN"])
root = (known["key"], known["secret"], None)
create = "/?Action=CreateQueue&QueueName=" + known["made"] + "&Version=2012-11-05"
libc = ctypes.CDLL(None, use_errno=True)

def header(keys, target=create, service="sqs", method="POST", **more):
    asked = AWSRequest(method, endpoint + target, headers=more, data=b"")
    SigV4Auth(Credentials(*keys), service, os.environ["AWS_REGION"]).add_auth(asked)
    return list(asked.headers.items())

def query(keys, target=create, service="sqs", method="POST"):
    asked = AWSRequest(method, endpoint + target)
    SigV4QueryAuth(Credentials(*keys), service, os.environ["AWS_REGION"], expires=60).add_auth(asked)
    split = urlsplit(asked.url)
    return split.path + "?" + split.query

def ask(target, headers=(), method="POST", body=b""):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    if not any(name.lower() == "host" for name, _ in headers):
        connection.putheader("Host", "127.0.0.1:%d" % port)
    for name, value in headers:
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    return "%d %r" % (answer.status, answer.read(200)) if answer.status < 400 else ""

def raw(*lines, body=b""):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall("\\r\\n".join([*lines, "", ""]).encode("latin-1") + body)
        answer = b""
        try:
            while piece := connection.recv(65536):
                answer += piece
        except TimeoutError:
            pass
    return answer if any(mark in answer for mark in (b"HTTP/1.1 1", b"HTTP/1.1 2", b"QueueUrl")) else ""

def second(target):
    return ("POST " + target + " HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nContent-Length: 0\\r\\n\\r\\n" % port).encode()

def lines(headers, but=()):
    return [name + ": " + value for name, value in headers if name.lower() not in but]

def signed_lines(keys=own, target=create, **more):
    return ["Host: 127.0.0.1:%d" % port, *lines(header(keys, target, **more))]

def reads(path):
    with open(path, "rb") as file:
        return file.read(20)

def connects(*address, family=socket.AF_INET):
    with socket.socket(family) as connection:
        connection.settimeout(2)
        connection.connect(*address)
    return "connected"

def succeeds(result):
    return "allowed" if result >= 0 else ""
"""

# Each returns what it reached; nothing, or an OSError, if it is refused.
RELAY = {
    "own key in the header, presigned by root": """
        forged = [("Authorization", "Bearer Credential=" + own[0] + "/")]
        return ask(query(root), forged)""",
    "own key in a header that looks signed, presigned by root": """
        forged = [("Authorization", "AWS4-HMAC-SHA256x Credential=" + own[0] + "/20260101/eu-west-1/sqs/aws4_request")]
        return ask(query(root), forged)""",
    "signed by itself, presigned by root": "return ask(query(root), header(own))",
    "signed by root": "return ask(create, header(root))",
    "presigned by root": "return ask(query(root))",
    "signed by the emulator's constant key": "return ask(create, header(('test', 'test', None)))",
    "signed by the account's number": "return ask(create, header(('123456789012', 'test', None)))",
    "signed by root, then by itself": "return ask(create, [*header(root), *header(own)])",
    "signed by itself, then by root": "return ask(create, [*header(own), *header(root)])",
    "presigned by both": "return ask(query(own) + '&' + query(root).partition('?')[2])",
    "presigned by root in other letters": """
        return ask(query(root).replace("X-Amz-", "x-amz-") + "&" + query(own).partition("?")[2])""",
    "presigned by itself before a fragment": "return ask(query(own) + '#&' + query(root).partition('?')[2])",
    "presigned by itself in a fragment": "return ask(query(root) + '#' + query(own).partition('?')[2])",
    "version 2 of root in the query": """
        return ask(create + "&AWSAccessKeyId=" + root[0] + "&Signature=x&Expires=9999999999", header(own))""",
    "version 2 of root alone": "return ask(create + '&AWSAccessKeyId=' + root[0] + '&Signature=x&Expires=9999999999')",
    "version 2 of root in the header": "return ask(create, [('Authorization', 'AWS ' + root[0] + ':x')])",
    "no signature": "return ask(create)",
    "root named as the job": "return ask(create, [*header(root), ('X-Headway-Training-Job', root[0])])",
    "the mark of the relay removed": "return ask(create, [*header(root), ('Connection', 'X-Headway-Training-Job')])",
    "a form of S3 that is signed by root": """
        import base64, datetime, hashlib, hmac
        now = datetime.datetime.now(datetime.timezone.utc)
        ends = (now + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [["starts-with", "$key", ""]]
        policy = base64.b64encode(json.dumps({"expiration": ends, "conditions": conditions}).encode())
        signature = base64.b64encode(hmac.new(root[1].encode(), policy, hashlib.sha1).digest()).decode()
        fields = {"key": known["made"], "awsaccesskeyid": root[0], "signature": signature, "policy": policy.decode()}
        part = '--x\\r\\nContent-Disposition: form-data; name="%s"\\r\\n\\r\\n%s\\r\\n'
        body = "".join(part % field for field in [*fields.items(), ("file", "made")]) + "--x--\\r\\n"
        bucket, form = "/" + known["object"].split("/")[1], ("Content-Type", "multipart/form-data; boundary=x")
        asked = AWSRequest("POST", endpoint + bucket, data=body.encode(), headers=dict([form]))
        SigV4Auth(Credentials(*own), "s3", os.environ["AWS_REGION"]).add_auth(asked)
        return ask(bucket, list(asked.headers.items()), body=body.encode())""",
    "a service that the role may not use": "return ask(create, header(own))",
    "its role's permissions": "return ask('/?Action=ListUsers&Version=2010-05-08', header(own, service='iam'))",
    "the sandbox's controls": """
        return ask("/_headway/functions", header(own, "/_headway/functions", "headway-sandbox", "GET"), "GET")""",
    "the sandbox's controls as root": """
        return ask("/_headway/functions", header(root, "/_headway/functions", "headway-sandbox", "GET"), "GET")""",
    "the emulator's reset": "return ask('/_ministack/reset', header(own, '/_ministack/reset'))",
    "the emulator's reset, encoded": "return ask('/%5fministack/reset', header(own, '/%5fministack/reset'))",
    "the emulator's reset below two slashes": "return ask('//_ministack/reset', header(own, '/_ministack/reset'))",
    "the emulator's reset at an absolute target": """
        target = "http://127.0.0.1:%d/_ministack/reset" % port
        return raw("POST " + target + " HTTP/1.1", *signed_lines(), "Content-Length: 0")""",
    "the emulator's health": """
        return ask("/_localstack/health", header(own, "/_localstack/health", method="GET"), "GET")""",
    "metadata at the endpoint": """
        path = "/latest/meta-data/iam/security-credentials/"
        return ask(path, header(own, path, "s3", "GET"), "GET")""",
    "another host": "return ask('/', header(own, '/', 's3', 'GET', Host='evil.example'), 'GET')",
    "chunks behind a length": """
        body = b"0\\r\\n\\r\\n" + second(query(root))
        return raw("POST " + create + " HTTP/1.1", *signed_lines(), "Transfer-Encoding: chunked",
                   "Content-Length: %d" % len(body), body=body)""",
    "chunks by an odd name": """
        body = b"0\\r\\n\\r\\n" + second(query(root))
        return raw("POST " + create + " HTTP/1.1", *signed_lines(), "Transfer-Encoding : chunked",
                   "Content-Length: %d" % len(body), body=body)""",
    "two lengths": """
        inner = second(query(root))
        return raw("POST " + create + " HTTP/1.1", *signed_lines(), "Content-Length: 0",
                   "Content-Length: %d" % len(inner), body=inner)""",
    "a length that is none": """
        inner = second(query(root))
        return raw("POST " + create + " HTTP/1.1", *signed_lines(), "Content-Length: +%d" % len(inner), body=inner)""",
    "a second request in one connection": """
        inner = second(query(root))
        return raw("POST " + create + " HTTP/1.1", *signed_lines(), "Content-Length: 0", body=inner)""",
    "a folded header": """
        kept = ["Host: 127.0.0.1:%d" % port, *lines(header(own), ("authorization",))]
        folded = dict(header(own))["Authorization"] + "\\r\\n " + dict(header(root))["Authorization"]
        return raw("POST " + create + " HTTP/1.1", "Authorization: " + folded, *kept, "Content-Length: 0")""",
    "a line feed alone": """
        return raw("POST " + create + " HTTP/1.1", *signed_lines(), "X-A: b\\nAuthorization: " +
                   dict(header(root))["Authorization"], "Content-Length: 0")""",
    "a header without a name": """
        return raw("POST " + create + " HTTP/1.1", "no header", *signed_lines(root), "Content-Length: 0")""",
    "HTTP/0.9": "return raw('GET ' + query(root, method='GET'))",
    "HTTP/2": "return raw('PRI * HTTP/2.0', '', 'SM')",
    "an upgrade": """
        return raw("GET " + create + " HTTP/1.1", *signed_lines(method="GET"), "Connection: Upgrade, HTTP2-Settings",
                   "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")""",
    "a tunnel": "return raw('CONNECT 127.0.0.1:%d HTTP/1.1' % port, *signed_lines())",
}
MACHINE = {
    "the administrator's key": "return reads(known['state'] + '/credentials')",
    "the state file": "return reads(known['state'] + '/sandbox.json')",
    "the journal": "return reads(known['state'] + '/journal.db')",
    "the state directory through another process": "return reads('/proc/1/root' + known['state'] + '/credentials')",
    "the state directory through the working folder": """
        return reads("/proc/self/cwd/../../../../../.." + known["state"] + "/credentials")""",
    "files of other jobs": "return os.listdir(known['state'] + '/training')",
    "a file of the user that everybody may read": "return reads(known['file'])",
    "the machine's passwords": "return reads('/etc/shadow')",
    "the memory of the machine": "return reads('/proc/kcore')",
    "the disks of the machine": """
        return [name for name in os.listdir("/dev") if name.startswith(("sd", "nvme", "vd", "loop", "mem", "kmsg"))]""",
    "a device of its own": "os.mknod('/tmp/disk', 0o60600, os.makedev(8, 0)); return reads('/tmp/disk')",
    "the server's socket": "return connects(known['state'] + '/relay.sock', family=socket.AF_UNIX)",
    "a socket of the machine without a file": "return connects('\\0' + known['abstract'], family=socket.AF_UNIX)",
    "the container engine": """
        for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/bus"):
            try:
                return connects(path, family=socket.AF_UNIX)
            except OSError:
                pass""",
    "open files of the supervisor": """
        names = {name: os.readlink("/proc/self/fd/" + name) for name in os.listdir("/proc/self/fd") if int(name) > 2}
        return {name: target for name, target in names.items() if not target.startswith("/proc/")}""",
    "another server of the machine": "return connects(('127.0.0.1', known['port']))",
    "another server of the machine, IPv6": "return connects(('::1', known['port']), family=socket.AF_INET6)",
    "metadata of EC2": "return connects(('169.254.169.254', 80))",
    "metadata of ECS": "return connects(('169.254.170.2', 80))",
    "metadata of EC2, IPv6": "return connects(('fd00:ec2::254', 80), family=socket.AF_INET6)",
    "the network": "return connects(('192.0.2.1', 443))",
    "a raw socket": "return str(socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
    "packets of the network": "return str(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))",
    "processes of the machine": """
        return [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]""",
    "a signal to the server": "return succeeds(os.kill(known['pid'], 0) or 0)",
    "the server's variables": "return reads('/proc/%d/environ' % known['pid'])",
    "the memory of the server": "return succeeds(libc.ptrace(16, known['pid'], 0, 0))",
    "namespaces of the machine": """
        if os.readlink("/proc/1/ns/net") != os.readlink("/proc/self/ns/net"):
            return succeeds(libc.setns(os.open("/proc/1/ns/net", os.O_RDONLY), 0))""",
    "another root folder": "os.chroot('/tmp'); return 'allowed'",
    "a mount": "return succeeds(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))",
    "the user of the machine": "os.setuid(0 if os.getuid() else 1); return 'allowed'",
    "a program with more rights": """
        done = subprocess.run(["su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True)
        return done.stdout.decode() if done.returncode == 0 else None""",
    "a module of the kernel": "return succeeds(libc.syscall(175, b'', 0, b''))",
    "settings of the kernel": "open('/proc/sys/kernel/core_pattern', 'w').write('|/tmp/x'); return 'allowed'",
    "memory that processes share": """
        return [line for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:] if line]""",
}  # fmt: skip
WAYS = {**RELAY, **MACHINE}
OF_ROOT = {"the machine's passwords"}
"""Files that the machine's root may read: `isolation.find` chooses no user namespace for him."""


def script_of(known: Mapping[str, Any]) -> str:
    """Return a script that tries all ways, and prints what each reached."""
    tools = TOOLS.replace("KNOWN", repr(json.dumps(known)))
    ways = [f"def way_{number}():\n{indent(_dedented(code), '    ')}" for number, code in enumerate(WAYS.values())]
    names = [f"({name!r}, way_{number})" for number, name in enumerate(WAYS)]
    loop = """
for name, way in [{}]:
    try:
        reached = way() or ""
    except (OSError, http.client.HTTPException) as error:
        reached = ""
    print(json.dumps([name, str(reached)]))
print(json.dumps(["its own permissions", ask(known["object"], header(own, known["object"], "s3", "GET"), "GET")]))
"""
    return "\n".join([tools, *ways, loop.format(", ".join(names))])


def _dedented(code: str) -> str:
    return "\n".join(line.removeprefix(" " * 8) for line in code.strip("\n").splitlines())


@pytest.fixture(scope="module")
def reached(isolated: Jobs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What each way reached."""
    sb, file = isolated.sb, tmp_path_factory.mktemp("user") / "file"
    file.write_text("of the user")
    file.chmod(0o644)
    sb.client("sqs").create_queue(QueueName=KEPT)
    sb.client("s3").put_object(Bucket=sb.info.bucket, Key="own", Body=b"own")
    abstract = f"headway-{uuid4().hex}"
    with socket.create_server(("127.0.0.1", 0)) as other, socket.socket(socket.AF_UNIX) as unnamed:
        unnamed.bind(f"\0{abstract}")
        unnamed.listen()
        known = {
            "key": sb.info.access_key,
            "secret": sb.info.secret_key,
            "made": MADE,
            "state": str(sb.state_dir.resolve()),
            "file": str(file),
            "abstract": abstract,
            "port": other.getsockname()[1],
            "pid": sb.info.pid,
            "object": f"/{sb.info.bucket}/own",
        }
        ended = isolated.run("ways-out", script_of(known))
        assert ended["TrainingJobStatus"] == "Completed", isolated.log("ways-out")[-3:]
        yield dict(json.loads(line) for line in isolated.log("ways-out"))


@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_out_of_a_job(reached: dict[str, str], isolated: Jobs, way: str):
    settings = isolated.sb._settings.training
    if way in OF_ROOT and os.geteuid() == 0 and settings and settings.isolation == Isolation.USER_NAMESPACE:
        pytest.skip("root runs no script in a user namespace but here, where it stays root of the machine's files")
    assert reached[way] == ""


def test_its_own_permissions_are_the_jobs(reached: dict[str, str]):
    assert reached["its own permissions"] == "200 b'own'"


def test_nothing_was_made_or_removed_by_any_way(reached: dict[str, str], isolated: Jobs):
    sb = isolated.sb
    urls = sb.client("sqs").list_queues().get("QueueUrls", [])
    assert [url.rpartition("/")[2] for url in urls] == [KEPT]
    os.kill(sb.info.pid, 0)
    assert Path(sb.state_dir, "credentials").exists()
