"""docs/how-to/reach.md names what `headway doctor` says, by the words of the code that says it."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway_client.cli import diagnostics
from headway_client.http.error_mapping import refused

PAGE = (Path(__file__).parents[2] / "docs/how-to/reach.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("\n## Troubleshooting\n")[2]
HOST = "vpce-0123456789abcdef0-abcdefgh.execute-api.eu-west-1.vpce.amazonaws.com"
ENDPOINT = f"https://{HOST}/v1"


def rows() -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", TABLE, re.MULTILINE)


def said(findings: Iterator[diagnostics.Finding]) -> str:
    return "\n".join(f"{each.message}\n{each.remedy}" for each in findings if each.result != "ok")


def resolve_to(patch: pytest.MonkeyPatch, address: str | None) -> None:
    def getaddrinfo(*_: object, **__: object) -> list[tuple[object, ...]]:
        if address is None:
            raise socket.gaierror("Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))]

    def create_connection(*_: object, **__: object) -> None:
        raise TimeoutError("timed out")

    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        patch.delenv(name, raising=False)
    patch.setattr(socket, "getaddrinfo", getaddrinfo)
    patch.setattr(socket, "create_connection", create_connection)


def unresolved(patch: pytest.MonkeyPatch) -> str:
    resolve_to(patch, None)
    return said(diagnostics._network(ENDPOINT))


def public(patch: pytest.MonkeyPatch) -> str:
    resolve_to(patch, "52.95.110.1")
    return said(diagnostics._network(ENDPOINT)).partition("\n")[0]


def without_route(patch: pytest.MonkeyPatch) -> str:
    resolve_to(patch, "10.42.0.10")
    return said(diagnostics._network(ENDPOINT))


def by_proxy(patch: pytest.MonkeyPatch) -> str:
    resolve_to(patch, "10.42.0.10")
    patch.setenv("HTTPS_PROXY", "http://proxy.example.com:3128")
    patch.delenv("NO_PROXY", raising=False)
    patch.delenv("no_proxy", raising=False)
    return said(diagnostics._network(ENDPOINT))


def of_another_name(patch: pytest.MonkeyPatch) -> str:
    def wrap_socket(*_: object, **__: object) -> None:
        raise ssl.SSLCertVerificationError("Hostname mismatch, certificate is not valid for 'localhost'")

    patch.setattr(ssl.SSLContext, "wrap_socket", wrap_socket)
    with socket.socket() as connected:
        return said(iter([diagnostics._tls(connected, "localhost")]))


def forbidden(message: str) -> Callable[[pytest.MonkeyPatch], str]:
    def answer(_patch: pytest.MonkeyPatch) -> str:
        return refused(ENDPOINT, 403, {}, f'{{"message": "{message}"}}'.encode()).full_message()

    return answer


SITUATIONS: dict[str, Callable[[pytest.MonkeyPatch], str]] = {
    "can't be resolved": unresolved,
    "public, where a private API does not respond": public,
    "accepts no connection": without_route,
    "goes through the proxy": by_proxy,
    "is not trusted": of_another_name,
    # What API Gateway says (AWS's "Troubleshoot HTTP 403 errors from API Gateway").
    "set the API's id": forbidden("Forbidden"),
    "check the API's resource policy": forbidden(
        "User: arn:aws:iam::123456789012:user/ada is not authorized to perform: execute-api:Invoke on resource: x"
    ),
    "the region is the API's": forbidden("The request signature we calculated does not match the signature"),
}


def test_the_page_has_a_row_for_each_situation() -> None:
    assert rows() == list(SITUATIONS)


@pytest.mark.parametrize("row", rows())
def test_doctor_says_what_the_page_says_that_it_says(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert row in SITUATIONS[row](monkeypatch)


def test_the_outputs_and_parameters_of_the_page_exist() -> None:
    template = (Path(__file__).parents[2] / "template.yaml").read_text(encoding="utf-8")
    for name in (
        "ApiEndpoint",
        "ApiEndpointWithoutPrivateDns",
        "ApiId",
        "UserPolicyArn",
        "VpcEndpointIds",
        "CallerArns",
    ):
        assert f"`{name}`" in PAGE
        assert re.search(rf"^  {name}:$", template, re.MULTILINE), name
