"""Policies that deny some CreateTrainingJob requests and allow the others, for as long as they are set.

Such a denial is about one job: a service control policy demands a VPC, a key, network isolation or a shorter run time
(condition keys `sagemaker:VpcSubnets`, `sagemaker:VolumeKmsKey`, `sagemaker:NetworkIsolation`,
`sagemaker:MaxRuntimeInSeconds`; Service Authorization Reference for SageMaker), or a key's policy lets nobody create a
grant. Everything else that the same caller starts is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.api import authorization
from headway_sandbox.sagemaker.api.authorization import Permission

_KEY = "kms"
_ENDINGS: Mapping[str, str] = {
    "scp": "with an explicit deny in a service control policy",
    "boundary": "with an explicit deny in a permissions boundary",
    "unnamed": "with an explicit deny",
    "identity": "because no identity-based policy allows the sagemaker:CreateTrainingJob action",
    _KEY: "because no resource-based policy allows the kms:CreateGrant action",
}
"""What the sentence ends with, by kind of policy. Source: IAM guide, "Access denied error messages"; seen for
CreateTrainingJob with a permissions boundary, and, before 2021, `unnamed` (workshop "Secure data science reference
architecture")."""


@dataclass(frozen=True, kw_only=True)
class Denial:
    """A policy, and the requests that it denies: those that meet all of its conditions."""

    present: str = ""
    """A member of the request that is set and not false, for instance `ResourceConfig.VolumeKmsKeyId`."""
    absent: str = ""
    """A member that is missing or false, for instance `VpcConfig` or `EnableNetworkIsolation`."""
    longer_s: float = -1.0
    """MaxRuntimeInSeconds above this number; negative: any."""
    role: str = ""
    """The RoleArn."""
    name_prefix: str = ""
    """How the training job's name begins."""
    policy: str = "scp"
    """The kind of the policy: `scp`, `boundary`, `unnamed`, `identity`, or `kms`, the policy of the key for the job's
    volumes, which denies requests with such a key only."""

    @staticmethod
    def read(name: str, given: Mapping[str, Any]) -> Denial:
        """Return the policy that a switch describes.

        Args:
            name: Its name, for the message.
            given: The fields.

        Raises:
            ValueError: A field or the kind of policy does not exist, or there is no condition.
        """
        known = {entry.name for entry in fields(Denial)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise ValueError(f"denials[{name}]: unknown {', '.join(unknown)}. Known: {', '.join(sorted(known))}.")
        denial = Denial(**given)
        if denial.policy not in _ENDINGS:
            raise ValueError(f"denials[{name}]: policy is one of {', '.join(_ENDINGS)}, not {denial.policy}.")
        if not set(given) - {"policy"} and denial.policy != _KEY:
            raise ValueError(f"denials[{name}] has no condition.")
        return denial

    def applies(self, request: Mapping[str, Any]) -> bool:
        """Return whether the policy denies a CreateTrainingJob request, which may be malformed."""
        longest_s = _at(request, "StoppingCondition.MaxRuntimeInSeconds")
        return (
            (not self.present or bool(_at(request, self.present)))
            and (not self.absent or not _at(request, self.absent))
            and (self.longer_s < 0 or (isinstance(longest_s, int) and longest_s > self.longer_s))
            and (not self.role or request.get("RoleArn") == self.role)
            and str(request.get("TrainingJobName", "")).startswith(self.name_prefix)
            and (self.policy != _KEY or bool(_at(request, "ResourceConfig.VolumeKmsKeyId")))
        )

    def error(self, request: Mapping[str, Any], *, arn: str) -> AwsError:
        """Return the response to a request that the policy denies.

        Args:
            arn: The ARN of the training job that it would create.
        """
        needed = Permission(action="sagemaker:CreateTrainingJob", resource=arn)
        if self.policy == _KEY:
            needed = authorization.volume_key(request, arn_prefix=f"{arn.rpartition('/')[0]}/")[0]
        _, partition, _, _, account, _ = arn.split(":", 5)
        principal = f"arn:{partition}:sts::{account}:assumed-role/SandboxCaller/session"
        return authorization.not_authorized(needed, principal=principal, why=_ENDINGS[self.policy])


def _at(request: Mapping[str, Any], path: str) -> Any:
    """Return the member at a path; None if there is none."""
    found: Any = request
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
