"""Responds to calls of Service Quotas, as the sandbox has the quotas and not the emulator."""

from __future__ import annotations

import json
import uuid

from headway_sandbox.emulator import patches
from headway_sandbox.emulator.patches import Caller, Receive, Scope, Send
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.capacity import service_quotas
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.server.responses import respond


async def respond_to_quota_call(fleet: FakeSageMaker, target: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to a call.

    Args:
        fleet: The sandbox's SageMaker, which has the quotas.
        target: The header X-Amz-Target.
    """
    headers = {"content-type": "application/x-amz-json-1.1", "x-amzn-requestid": str(uuid.uuid4())}
    caller, body = await patches.read_signed(scope, receive)
    operation = target.removeprefix(service_quotas.TARGET_PREFIX)
    try:
        _authorize(caller, operation)
        request = json.loads(body or b"{}")
        account, region = fleet.settings.account, fleet.settings.region
        answer = service_quotas.answer(operation, request, fleet.faults, account=account, region=region)
    except AwsError as error:
        content = json.dumps({"__type": error.code, "message": error.message}).encode()
        await respond(send, error.status, content, {**headers, "x-amzn-errortype": error.code})
        return
    await respond(send, 200, json.dumps(answer).encode(), headers)


def _authorize(caller: Caller, operation: str) -> None:
    # These calls have no resources (Service Authorization Reference for Service Quotas).
    action = f"{service_quotas.SERVICE}:{operation}"
    refused = patches.refusal(caller, action, "*", {}, service=service_quotas.SERVICE)
    if refused is not None:
        message = f"User: {refused.principal} is not authorized to perform: {action}"
        raise AwsError("AccessDeniedException", message)
