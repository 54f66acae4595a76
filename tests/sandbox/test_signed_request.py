"""Credentials are read in one way: exactly one well-formed signature of version 4, or none at all."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.signed_request import LONGEST_EXPIRY_S, Signature, read

SIG = "0a" * 32
SCOPE = "AKIA/20260102/eu-west-1/s3/aws4_request"
OTHER = "test/20260102/eu-west-1/s3/aws4_request"
AT = "20260102T030405Z"


def header(scope: str = SCOPE, *, names: str = "host;x-amz-date", **changes: str) -> list[tuple[str, str]]:
    value = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={SIG}"
    return list({"Host": "localhost:1", "X-Amz-Date": AT, "Authorization": value, **changes}.items())


def query(scope: str = SCOPE, **changes: str) -> str:
    given = {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": scope, "X-Amz-Date": AT, "X-Amz-Expires": "60",
        "X-Amz-SignedHeaders": "host", "X-Amz-Signature": SIG,
    }  # fmt: skip
    given |= {f"X-Amz-{name}": value for name, value in changes.items()}
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())


HOST = [("Host", "localhost:1")]


def code_of(asked: str, headers: list[tuple[str, str]]) -> str:
    with pytest.raises(AwsError) as refused:
        read(asked, headers)
    assert refused.value.status == 403
    return refused.value.code


def test_a_signature_in_the_header_is_read():
    names = "host;x-amz-date;x-amz-security-token"
    signature = read("list-type=2&prefix=a%2Fb", [*header(names=names), ("x-amz-security-token", "token")])
    assert signature == Signature(
        access_key="AKIA", at=AT, region="eu-west-1", service="s3", signed_headers=tuple(names.split(";")), value=SIG,
        token="token", expires_s=None,
    )  # fmt: skip
    assert not signature.presigned


def test_a_signature_in_the_query_is_read():
    signature = read(f"list-type=2&{query()}&X-Amz-Security-Token=a%2Fb", HOST)
    assert (signature.access_key, signature.token, signature.expires_s) == ("AKIA", "a/b", 60)
    assert signature.presigned


@pytest.mark.parametrize("asked", ["", "Action=ListQueues", "Expires=9999999999"])
def test_a_request_without_credentials_is_refused(asked: str):
    assert code_of(asked, HOST) == "MissingAuthenticationToken"


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer Credential=AKIA/",
        "Bearer AWS4-HMAC-SHA256",
        "AWS AKIA:signature",
        "Basic dGVzdDp0ZXN0",
        f"AWS4-ECDSA-P256-SHA256 Credential={SCOPE}, SignedHeaders=host;x-amz-date, Signature={SIG}",
        f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host;x-amz-date, Signature={SIG}, Credential={OTHER}",
        f"AWS4-HMAC-SHA256 Credential={OTHER}, Credential={SCOPE}, SignedHeaders=host;x-amz-date, Signature={SIG}",
        f"AWS4-HMAC-SHA256  Credential={SCOPE}, SignedHeaders=host;x-amz-date, Signature={SIG}",
        f"aws4-hmac-sha256 Credential={SCOPE}, SignedHeaders=host;x-amz-date, Signature={SIG}",
        f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host;x-amz-date, Signature={SIG[:-1]}",
        f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host;x-amz-date, Signature={SIG}\n",
        f"AWS4-HMAC-SHA256 Credential={SCOPE}\r\n x, SignedHeaders=host;x-amz-date, Signature={SIG}",
        f"AWS4-HMAC-SHA256 Credential=/20260102/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature={SIG}",
        f"AWS4-HMAC-SHA256 Credential=AKIA/20260102/eu-west-1/s3, SignedHeaders=host, Signature={SIG}",
    ],
)
def test_a_header_of_another_form_is_refused(authorization: str):
    assert code_of("", header(Authorization=authorization)) == "IncompleteSignature"


@pytest.mark.parametrize("at", ["", "20260103T000000Z", "Fri, 02 Jan 2026 03:04:05 GMT", "20260102T0304050"])
def test_a_signature_needs_the_time_of_its_own_date(at: str):
    assert code_of("", header(**{"X-Amz-Date": at})) == "IncompleteSignature"
    assert code_of(query(Date=at), HOST) == "IncompleteSignature"


@pytest.mark.parametrize(
    "more",
    [
        query(OTHER),
        "X-Amz-Credential=test%2F1",
        "x-amz-credential=test%2F1",
        "X-Amz-Signature=0",
        "X-Amz-Security-Token=t",
        "AWSAccessKeyId=test&Signature=x&Expires=9999999999",
        "awsaccesskeyid=test",
        "SignatureVersion=2",
        "X%2dAmz%2dCredential=test",
    ],
)
def test_credentials_in_header_and_query_are_refused(more: str):
    assert code_of(f"a=b&{more}", header()) == "IncompleteSignature"


@pytest.mark.parametrize(
    "more",
    [
        "X-Amz-Credential=test%2F1",
        "x-amz-credential=test%2F1",
        "X-Amz-Algorithm=AWS4-HMAC-SHA256",
        "AWSAccessKeyId=test",
        "Signature=x",
        "%58-Amz-Signature=0",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_two_credentials_in_the_query_are_refused(more: str, first: bool):
    assert code_of("&".join([more, query()] if first else [query(), more]), HOST) == "IncompleteSignature"


@pytest.mark.parametrize(
    "changes",
    [
        {"Algorithm": "AWS4-ECDSA-P256-SHA256"}, {"Algorithm": ""}, {"Credential": ""}, {"Expires": "0"},
        {"Expires": f"{LONGEST_EXPIRY_S + 1}"}, {"Expires": "-1"}, {"Expires": ""}, {"Signature": "0"},
        {"SignedHeaders": ""}, {"SignedHeaders": "Host"},
    ],
    ids=str,
)  # fmt: skip
def test_a_malformed_query_is_refused(changes: dict[str, str]):
    assert code_of(query(**changes), HOST) == "IncompleteSignature"


@pytest.mark.parametrize(
    "asked", ["AWSAccessKeyId=test&Signature=x&Expires=9", "Signature=x", "X-Amz-Credential=t%2F1"]
)
def test_a_part_of_credentials_or_version_2_is_refused(asked: str):
    assert code_of(asked, HOST) == "IncompleteSignature"


@pytest.mark.parametrize("asked", [f"{query()}#", f"#&{query()}", f"{query()}#&X-Amz-Credential=t", f"{query()}&a=ü"])
def test_a_query_that_others_could_end_elsewhere_is_refused(asked: str):
    assert code_of(asked, HOST) == "IncompleteSignature"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("authorization", "AWS test:x"),
        ("AUTHORIZATION", dict(header(OTHER))["Authorization"]),
        ("host", "other"),
        ("x-amz-date", AT),
        ("X-Amz-Security-Token", "token"),
        ("x-amz-content-sha256", "UNSIGNED-PAYLOAD"),
        ("content-length", "1"),
    ],
)
def test_a_header_that_decides_is_sent_once(name: str, value: str):
    names = "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"
    once = {"X-Amz-Security-Token": "token", "X-Amz-Content-Sha256": SIG, "Content-Length": "0"}
    sent = header(names=names, **once)
    read("", sent)
    assert code_of("", [*sent, (name, value)]) == "IncompleteSignature"
    assert code_of("", [(name, value), *sent]) == "IncompleteSignature"


@pytest.mark.parametrize(
    "kind", ["multipart/form-data; boundary=x", "Multipart/Form-Data", "text/plain, multipart/form-data"]
)
def test_a_form_is_refused_as_its_fields_are_credentials(kind: str):
    assert code_of("", [*header(), ("content-type", kind)]) == "IncompleteSignature"
    assert code_of(query(), [*HOST, ("Content-Type", "text/plain"), ("Content-Type", kind)]) == "IncompleteSignature"
    assert read("", [*header(), ("content-type", "text/plain")]).access_key == "AKIA"


def test_a_token_is_where_the_signature_is():
    assert code_of(query(SignedHeaders="host;x-amz-security-token"), [*HOST, ("X-Amz-Security-Token", "t")]) == (
        "IncompleteSignature"
    )


@pytest.mark.parametrize("name", ["host", "x-amz-copy-source", "x-amz-target", "x-amz-date"])
def test_headers_that_decide_are_signed(name: str):
    names = ";".join(sorted({"host", "x-amz-copy-source", "x-amz-date", "x-amz-target"} - {name}))
    sent = header(names=names, **{"X-Amz-Copy-Source": "a/b", "X-Amz-Target": "t"})
    assert code_of("", sent) == "AccessDenied"
    names = ";".join(sorted({*names.split(";"), name}))
    assert read("", header(names=names, **{"X-Amz-Copy-Source": "a/b", "X-Amz-Target": "t"})).access_key == "AKIA"
