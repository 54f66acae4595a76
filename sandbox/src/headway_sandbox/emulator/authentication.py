"""Checks of signatures before the emulator sees a request, and patches of what it believes without one.

ministack checks signatures where a request is authorized, each time in another way, and never those of the account's
root, as which it takes three kinds of keys that everybody knows. Here every signature is checked, in one way, and the
administrator's key is the only one of root.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import hmac
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

from headway_sandbox.emulator.patches import Scope, module
from headway_sandbox.errors import AwsError
from headway_sandbox.signed_request import Signature

_UNSIGNED_BODIES = {"UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}
# Each piece has a signature, which ministack's check of the request's one covers.
_SIGNED_PIECES = {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"}
_CLOCK_SKEW = timedelta(minutes=15)
_NO_ACTION = "No policy can allow this request: the sandbox knows no action for it."


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def prepare(*, root: str, secret: str) -> None:
    """Apply the patches. Called once, after `patches.prepare`.

    Args:
        root: The access key of the account's root.
        secret: Its secret key.
    """
    _know_one_root(root)
    _allow_no_unknown_action(root)
    _make_secrets_of_functions(secret)


def _know_one_root(root: str) -> None:
    """Take no other key for root's: neither `test`, nor an account's number, nor none."""
    for name in ("core.iam_evaluator", "services.sts"):
        module(name).is_root_access_key = lambda key: key == root


def _allow_no_unknown_action(root: str) -> None:
    """Refuse requests that ministack knows no action for, unless they are root's; it allows them to everybody."""
    evaluator = module("core.iam_evaluator")
    original = evaluator.check_credentials

    def check(access_key: str, service: str | None = None) -> Any:
        failure = original(access_key, service)
        return failure or (None if access_key == root else evaluator.AuthError("AccessDenied", _NO_ACTION))

    evaluator.check_credentials = check


def _make_secrets_of_functions(secret: str) -> None:
    """Give functions secret keys that nobody can compute; ministack's are hashes of the ARNs of function and role."""
    runtime, functions, sts = module("core.lambda_runtime"), module("services.lambda_svc"), module("services.sts")
    original = runtime.execution_credentials

    def credentials(config: Mapping[str, Any]) -> dict[str, str]:
        made: dict[str, str] = original(config)
        session = sts._sessions[made["AWS_ACCESS_KEY_ID"]]
        for name, member in (("AWS_SECRET_ACCESS_KEY", "SecretAccessKey"), ("AWS_SESSION_TOKEN", "SessionToken")):
            made[name] = hmac.new(secret.encode(), f"{name} {made[name]}".encode(), sha256).hexdigest()
            session = {**session, member: made[name]}
        sts.register_session(made["AWS_ACCESS_KEY_ID"], session)
        return made

    runtime.execution_credentials = functions.execution_credentials = credentials


def make_user(account: str, name: str, policy: Mapping[str, Any]) -> tuple[str, str]:
    """Make a user of another account, as no call of this account could; return an access key and its secret key."""
    responses, iam = module("core.responses"), module("services.iam")
    current = responses._request_account_id.set(account)
    try:
        iam._create_user({"UserName": name})
        iam._put_user_policy({"UserName": name, "PolicyName": "sandbox", "PolicyDocument": json.dumps(policy)})
        iam._create_access_key({"UserName": name})
        (key,) = [each for each in iam._access_keys.values() if each["UserName"] == name]
    finally:
        responses._request_account_id.reset(current)
    return key["AccessKeyId"], key["SecretAccessKey"]


# --------------------------------------------------------------------------------------------- the check


def secret_of(signature: Signature) -> str:
    """Return the secret key of the caller that a signature names.

    Raises:
        AwsError: The emulator does not know its access key, or the session token is not that of the key.
    """
    evaluator, responses = module("core.iam_evaluator"), module("core.responses")
    account = (
        responses._account_from_sts_session(signature.access_key)
        or evaluator.find_iam_access_key_account(signature.access_key)
        or responses.get_account_id()
    )
    found = evaluator.resolve_credential(signature.access_key, account, signature.token)
    if isinstance(found, evaluator.CredentialResolutionError):
        unknown = found.code == "InvalidToken" and not signature.token
        raise AwsError("UnrecognizedClientException" if unknown else found.code, found.message)
    secret: str = found.secret_access_key
    return secret


def check(signature: Signature, secret: str, scope: Scope, headers: Mapping[str, str], body: bytes) -> None:
    """Raise an error if a signature is not that of the request, or not of now.

    Args:
        secret: The caller's secret key.
        scope: ASGI scope of the request.
        headers: The request's headers, with names in lower case.
        body: Its body, as it was sent.

    Raises:
        AwsError: The request was not signed by the caller, or has expired.
    """
    sigv4 = module("core.sigv4")
    signed = sigv4.HeaderSignature(
        access_key_id=signature.access_key,
        date_stamp=signature.at[:8],
        region=signature.region,
        service=signature.service,
        signed_headers=";".join(signature.signed_headers),
        signature=signature.value,
        amz_date=signature.at,
    )
    _check_time(signature, signed)
    failure = sigv4.header_signature_failure(
        signed,
        secret,
        scope["method"],
        scope["raw_path"].decode("latin-1"),
        parse_qs(scope["query_string"].decode("ascii"), keep_blank_values=True),
        headers,
        body,
        presigned=signature.presigned,
    )
    if failure:
        raise AwsError(*failure)
    hashed = headers.get("x-amz-content-sha256", sha256(body).hexdigest())
    if hashed not in {sha256(body).hexdigest(), *_UNSIGNED_BODIES, *_SIGNED_PIECES}:
        raise AwsError("SignatureDoesNotMatch", sigv4.SIGNATURE_MISMATCH)


def _check_time(signature: Signature, signed: Any) -> None:
    sigv4 = module("core.sigv4")
    if signature.expires_s is None:
        failure = sigv4.request_time_failure(signed)
        if failure:
            raise AwsError(*failure)
        return
    try:
        expired = sigv4.presigned_request_is_expired(signature.at, signature.expires_s)
        early = not sigv4.presigned_request_is_expired(signature.at, -_CLOCK_SKEW.total_seconds())
    except ValueError:
        raise AwsError("IncompleteSignature", f"{signature.at} is no time.") from None
    if expired or early:
        raise AwsError("AccessDenied", "Request has expired" if expired else "Request is not valid yet")


def refused(error: AwsError, scope: Scope, headers: Mapping[str, str]) -> Answer:
    """Return the response to a request whose signature is refused, as the called service writes it.

    Args:
        error: Why it is refused.
        scope: ASGI scope of the request.
        headers: The request's headers, with names in lower case.
    """
    app, evaluator = module("app"), module("core.iam_evaluator")
    query = parse_qs(scope["query_string"].decode("ascii"), keep_blank_values=True)
    denied = evaluator.AuthError(error.code, error.message)
    called = app._parse_execute_api_url(headers.get("host", ""), scope["path"])
    response = None
    if called is not None:
        api, stage, _path = called
        response = module("services.apigateway_v1").authentication_error_response(api, stage, denied, headers, query)
    if response is None:
        service = module("core.router").detect_service(scope["method"], scope["path"], dict(headers), query)
        response = app._credential_failure(service, "", str(uuid.uuid4()), denied, dict(headers))
    status, answered, body = response
    return Answer(status=status, headers=answered, body=body if isinstance(body, bytes) else str(body).encode())
