"""The FailureReason of a training job whose script failed.

Source: SageMaker guide, "How Amazon SageMaker AI Signals Algorithm Success and Failure": a job fails with another exit
code than 0, and the begin of /opt/ml/output/failure is its reason. Seen: `AlgorithmError: TEXT, exit code: N`.
"""

from __future__ import annotations

LONGEST = 1024
"""Length of a FailureReason, characters (model)."""

OF_SERVICE = "InternalServerError: We encountered an internal error. Sandbox: its log, server.log, says more."
"""The FailureReason of a job that the sandbox could not run: SageMaker's fault, so it may be tried again."""


def of_script(exit_code: int, *, failure: str, last_line: str, host: str) -> str:
    """Return the FailureReason of a script.

    Args:
        failure: What it has written to /opt/ml/output/failure.
        last_line: The last line that it has printed, in place of that.
        host: Name of its host.
    """
    end = f", exit code: {exit_code}"
    text = failure.strip() or f"{host} wrote no /opt/ml/output/failure. Its last line: {last_line.strip() or 'none'}"
    return f"AlgorithmError: {text}"[: LONGEST - len(end)] + end


def of_request(message: str) -> str:
    """Return the FailureReason of a job whose input cannot be prepared."""
    return f"ClientError: Data download failed: {message}"[:LONGEST]


def of_artifacts(message: str) -> str:
    """Return the FailureReason of a job whose checkpoints or artifacts cannot be uploaded (seen)."""
    return f"ClientError: Artifact upload failed: {message}"[:LONGEST]


def of_memory(limit_bytes: int, host: str) -> str:
    """Return the FailureReason of a job that uses more memory than it has; the kernel ends it with SIGKILL.

    Args:
        limit_bytes: The memory that a host has.
        host: Name of the host.
    """
    return (
        f"AlgorithmError: {host} used more than the {limit_bytes} bytes of memory that the sandbox gives a host. Use "
        "less, such as a smaller batch, or start the sandbox with a larger --memory. Out of memory, exit code: 137"
    )


def of_disk(limit_bytes: int, host: str) -> str:
    """Return the FailureReason of a job that has filled its disk.

    Args:
        limit_bytes: The space that a host has.
        host: Name of the host.
    """
    return (
        f"AlgorithmError: {host} used more than the {limit_bytes} bytes of disk space that the sandbox gives a host. "
        "No space left on device, exit code: 137"
    )
