"""The import of a deleted stack's table into a new stack, as docs/how-to/release.md does with the AWS CLI."""

from __future__ import annotations

from botocore.exceptions import WaiterError

from headway_sandbox.errors import DeployFailed
from headway_sandbox.local.sandbox import Sandbox
from headway_verification.upgrade.workspace import STACK, Workspace

CHANGE_SET = "take-the-table-over"
_TEMPLATE = "packaged.yaml"
_KEPT_IF = "DeletionPolicy:\n      Fn::If:\n      - KeepsTable\n      - Retain\n      - Delete\n"
_PATIENCE = {"Delay": 1, "MaxAttempts": 180}


def adopt(sandbox: Sandbox, workplace: Workspace) -> None:
    """Create the stack with a change set that imports existing resources.

    Args:
        sandbox: the sandbox with the table.
        workplace: the folder with the build.

    Raises:
        DeployFailed: CloudFormation rejected the change set or the stack.
    """
    info, parameters = sandbox.info, workplace.parameters()
    template = _literal(workplace.package(), parameters["TableName"])
    sandbox.client("s3").put_object(Bucket=info.bucket, Key=_TEMPLATE, Body=template.encode())
    formation = sandbox.client("cloudformation")
    formation.create_change_set(
        StackName=STACK,
        ChangeSetName=CHANGE_SET,
        ChangeSetType="CREATE",
        ImportExistingResources=True,
        TemplateURL=f"https://s3.{info.region}.amazonaws.com/{info.bucket}/{_TEMPLATE}",
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
    )
    change_set = {"StackName": STACK, "ChangeSetName": CHANGE_SET}
    try:
        formation.get_waiter("change_set_create_complete").wait(**change_set, WaiterConfig=_PATIENCE)
        formation.execute_change_set(**change_set)
        formation.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig=_PATIENCE)
    except WaiterError as error:
        why = error.last_response.get("StatusReason", "")
        raise DeployFailed(f"The table can't be imported: {error} {why}") from error


def _literal(template: str, table: str) -> str:
    """Replace the parameter and the condition by literals, which an import into CloudFormation requires.

    Args:
        template: the packaged template.
        table: the name of the table.
    """
    words = {
        "TableName:\n        Ref: TableName\n": f"TableName: {table}\n",
        _KEPT_IF: "DeletionPolicy: Retain\n",
    }
    for computed, word in words.items():
        if computed not in template:
            raise DeployFailed(f"The packaged template has an unexpected {computed.split(':', 1)[0]}.")
        template = template.replace(computed, word, 1)
    return template
