"""Why a grant is unused by runs, each with its source, and why a call may be refused.

Also shown in docs/reference/security.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway_verification.least_privilege.grants import Grant


@dataclass(frozen=True, kw_only=True)
class Reason:
    sid: str
    """The actions of the statements, in any role."""
    actions: frozenset[str]
    because: str
    source: str

    def covers(self, grant: Grant) -> bool:
        """Return whether the reason covers a grant."""
        return grant.sid == self.sid and grant.action in self.actions


REFUSED_ON_PURPOSE = {("ScheduleFunctionRole", "iam:PassRole")}
"""Calls that may be refused although they are granted: a job may name a role that is not in `TrainingRoleArns`."""


def _actions(service: str, *names: str) -> frozenset[str]:
    return frozenset(f"{service}:{name}" for name in names)


GRANTED_WITHOUT_A_RUN = (
    Reason(
        sid="Logs",
        actions=_actions("logs", "CreateLogStream", "PutLogEvents"),
        because="Lambda writes a function's logs with its role; the sandbox's Lambda writes them directly.",
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
        because="Lambda polls a queue with the function's role; the sandbox's Lambda checks no permission.",
        source="Lambda developer guide, Creating and configuring an Amazon SQS event source mapping",
    ),
    Reason(
        sid="Changes",
        actions=_actions("dynamodb", "DescribeStream", "GetRecords", "GetShardIterator"),
        because="Lambda reads a table's stream with the function's role; the sandbox's Lambda checks no permission.",
        source="Lambda developer guide, Using AWS Lambda with Amazon DynamoDB",
    ),
    Reason(
        sid="FindTheStream",
        actions=_actions("dynamodb", "ListStreams"),
        because="Lambda needs it to start reading a stream; the action applies to all streams of a table.",
        source="Lambda developer guide, Using AWS Lambda with Amazon DynamoDB",
    ),
    Reason(
        sid="KeepFailedEvents",
        actions=_actions("sqs", "SendMessage"),
        because="Lambda sends failed events with the function's role; the sandbox's Lambda checks no permission.",
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
        sid="SeeSpotScores",
        actions=_actions("ec2", "GetSpotPlacementScores"),
        because="Called only with spot.minScore; the sandbox has no spot placement scores.",
        source="EC2 API reference, GetSpotPlacementScores",
    ),
    Reason(
        sid="SeeNetworkInterfaces",
        actions=_actions("ec2", "DescribeNetworkInterfaces", "DescribeSubnets"),
        because="Granted only in a VPC (FunctionSubnetIds): Lambda reads them with the function's role.",
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
        because="As above: Lambda creates and deletes them with the function's role.",
        source="Lambda developer guide, Giving Lambda functions access to resources in an Amazon VPC",
    ),
    Reason(
        sid="UseSharedSubnets",
        actions=_actions("ec2", "CreateNetworkInterface"),
        because="As above, in subnets of FunctionSubnetIds that another account shares.",
        source="VPC user guide, Share your VPC subnets with other accounts",
    ),
)
