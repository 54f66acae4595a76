"""Why something is granted that no run can use, each with its source, and why something may be refused.

docs/reference/security.md shows the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway_verification.least_privilege.grants import Grant


@dataclass(frozen=True, kw_only=True)
class Reason:
    sid: str
    """Of the statements it is given for, whatever role they are in."""
    actions: frozenset[str]
    because: str
    source: str

    def covers(self, grant: Grant) -> bool:
        """Whether it is given for a grant."""
        return grant.sid == self.sid and grant.action in self.actions


REFUSED_ON_PURPOSE = {("ScheduleFunctionRole", "iam:PassRole")}
"""What a role may be refused although it is granted: a job may name a role that is not among `TrainingRoleArns`."""


def _actions(service: str, *names: str) -> frozenset[str]:
    return frozenset(f"{service}:{name}" for name in names)


GRANTED_WITHOUT_A_RUN = (
    Reason(
        sid="Logs",
        actions=_actions("logs", "CreateLogStream", "PutLogEvents"),
        because="Lambda writes a function's logs with its role; the sandbox's Lambda writes them itself.",
        source="Lambda developer guide, Sending Lambda function logs to CloudWatch Logs",
    ),
    Reason(
        sid="Traces",
        actions=_actions("xray", "PutTelemetryRecords", "PutTraceSegments"),
        because="Granted only with Tracing: Active. Lambda sends them with the function's role, the sandbox none.",
        source="Lambda developer guide, Visualize Lambda function invocations using AWS X-Ray",
    ),
    Reason(
        sid="TakeWakeUps",
        actions=_actions("sqs", "DeleteMessage", "GetQueueAttributes", "ReceiveMessage"),
        because="Lambda polls a queue with the function's role; the sandbox's Lambda reads it without being asked.",
        source="Lambda developer guide, Creating and configuring an Amazon SQS event source mapping",
    ),
    Reason(
        sid="Changes",
        actions=_actions("dynamodb", "DescribeStream", "GetRecords", "GetShardIterator"),
        because="Lambda reads a table's stream with the function's role; the sandbox's Lambda without being asked.",
        source="Lambda developer guide, Using AWS Lambda with Amazon DynamoDB",
    ),
    Reason(
        sid="FindTheStream",
        actions=_actions("dynamodb", "ListStreams"),
        because="Lambda asks for it when it begins to read a stream; the action takes all streams of a table.",
        source="Lambda developer guide, Using AWS Lambda with Amazon DynamoDB",
    ),
    Reason(
        sid="KeepFailedEvents",
        actions=_actions("sqs", "SendMessage"),
        because="Lambda sends what a function failed on with its role; the sandbox's Lambda without being asked.",
        source="Lambda developer guide, Capturing records of Lambda asynchronous invocations",
    ),
    Reason(
        sid="EncryptMessages",
        actions=_actions("kms", "Decrypt", "GenerateDataKey"),
        because="Granted only with a key of your own (KmsKeyArn); the sandbox's SNS encrypts nothing.",
        source="SNS developer guide, Managing Amazon SNS encryption keys and costs",
    ),
    Reason(
        sid="UseTheKey",
        actions=_actions("kms", "Decrypt", "GenerateDataKey"),
        because="Granted only with a key of your own (KmsKeyArn); the sandbox's services encrypt nothing.",
        source="DynamoDB developer guide, DynamoDB encryption at rest: Usage notes",
    ),
    Reason(
        sid="SeeNetworkInterfaces",
        actions=_actions("ec2", "DescribeNetworkInterfaces", "DescribeSubnets"),
        because="Granted only in a VPC (FunctionSubnetIds): Lambda looks with the function's role.",
        source="Lambda developer guide, Giving Lambda functions access to resources in an Amazon VPC",
    ),
    Reason(
        sid="MakeNetworkInterfaces",
        actions=_actions(
            "ec2",
            "AssignPrivateIpAddresses",
            "CreateNetworkInterface",
            "DeleteNetworkInterface",
            "UnassignPrivateIpAddresses",
        ),
        because="The same: Lambda makes and removes them with the function's role.",
        source="Lambda developer guide, Giving Lambda functions access to resources in an Amazon VPC",
    ),
)
