"""What the stack shows: its policies on deletion, keys, logs and functions."""

from __future__ import annotations

from headway_verification.acceptance.evidence import ColdStarts, DeletedStack, Deployment, Invocations, QueueMetrics
from headway_verification.acceptance.verdict import Finding, decided, holds, is_false, unchecked

COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")

INIT_LIMIT_MS = 10_000
"""Time of Lambda's init phase; after it the function starts again within its own timeout (Lambda developer guide,
"Understanding the Lambda execution environment lifecycle")."""


def accepted_policy(deployment: Deployment) -> Finding:
    """Whether CloudFormation deployed a table whose DeletionPolicy is a condition."""
    policy = deployment.template.get("Resources", {}).get("JobsTable", {}).get("DeletionPolicy")
    said = f"the stack is {deployment.status}; JobsTable has DeletionPolicy {policy}"
    if not isinstance(policy, dict) or "Fn::If" not in policy:
        return unchecked(f"{said}: CloudFormation shows no condition there")
    return decided(said, true=deployment.status in COMPLETE)


def resolved_policy(stack: DeletedStack) -> Finding:
    """Whether a deletion follows what the condition says."""
    kept = "is there" if stack.kept else "is gone"
    deleted = "is gone" if stack.deleted else "is there"
    said = f"after the deletion of the stack the topic with Retain {kept}, and that with Delete {deleted}"
    return decided(said, true=stack.kept and stack.deleted)


def own_key(deployment: Deployment) -> Finding:
    """Whether the services use the key that the stack was given."""
    key = deployment.parameters.get("KmsKeyArn", "")
    if not key:
        return unchecked("the stack has no key of its own: deploy one with KmsKeyArn (deploy/key.yaml)")
    others = sorted(f"{name}: {used or 'none'}" for name, used in deployment.keys.items() if used != key)
    return is_false(f"other keys than {key}: {', '.join(others)}") if others else holds(f"all use {key}")


def printed_metrics(metrics: QueueMetrics) -> Finding:
    """Whether CloudWatch made metrics of the lines that the functions print."""
    said = ", ".join(f"{name}: {count} values" for name, count in sorted(metrics.values.items()))
    return decided(said, true=all(metrics.values.values()))


def cold_starts(starts: ColdStarts) -> Finding:
    """Whether the functions are ready within Lambda's init phase."""
    slowest = {name: max(times) for name, times in starts.init_ms.items() if times}
    if not slowest:
        return unchecked("the logs have no REPORT line of a cold start: deploy with PlatformLogLevel=INFO")
    where = "in a VPC" if starts.in_vpc else "outside any VPC"
    said = f"{where}: " + ", ".join(f"{name} {ms:.0f} ms" for name, ms in sorted(slowest.items()))
    return decided(said, true=max(slowest.values()) <= INIT_LIMIT_MS)


def invoked(invocations: Invocations) -> Finding:
    """Whether each function was invoked and ended without an error."""
    said = ", ".join(f"{name} {made:g}/{failed:g}" for name, (made, failed) in sorted(invocations.counts.items()))
    reached = all(made > failed for made, failed in invocations.counts.values())
    return decided(f"invocations/errors: {said}", true=reached)
