"""What a web page may have sent is refused."""

from __future__ import annotations

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.server import web_pages

PORT = 4566


def refused(**headers: str) -> bool:
    try:
        web_pages.check({name.replace("_", "-"): value for name, value in headers.items()}, port=PORT)
    except AwsError as error:
        return error.status == 403
    return False


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "bucket.localhost", "my-bucket.s3.localhost", "0a1b2c3d.execute-api.localhost"],
)
def test_the_hosts_that_sdks_use_are_own(host: str):
    assert not refused(host=f"{host}:{PORT}")
    assert not refused(host=f"{host}:{PORT}", sec_fetch_site="none")
    for wrong in (host, f"{host}:", f"{host}:80", f"{host}:{PORT}0", f"{host}.evil.example:{PORT}", f"{host}:{PORT} "):
        assert refused(host=wrong), wrong


FOREIGN = [
    "", "evil.example", "127.0.0.1.evil.example", "evil-localhost", "user@localhost", "a.b.localhost",
    "x.alb.localhost", "0.0.0.0", "[::1]", "127.0.0.2", "LOCALHOST", ".localhost", "-.localhost",
]  # fmt: skip


@pytest.mark.parametrize("host", FOREIGN)
def test_other_hosts_are_foreign(host: str):
    assert refused(host=f"{host}:{PORT}")


def test_a_request_without_a_host_is_refused():
    assert refused()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", f"http://127.0.0.1:{PORT}"])
def test_a_request_with_an_origin_is_refused(origin: str):
    assert refused(host=f"127.0.0.1:{PORT}", origin=origin)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin", "", "none, cross-site", "None"])
def test_a_request_that_comes_from_a_page_is_refused(site: str):
    assert refused(host=f"127.0.0.1:{PORT}", sec_fetch_site=site)
