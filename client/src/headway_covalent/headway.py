"""The plugin: Covalent names an executor after its module, so this one is ``headway``."""

from __future__ import annotations

import asyncio
import pickle  # what Covalent does with each result
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from covalent._shared_files.exceptions import TaskCancelledError, TaskRuntimeError
from covalent._workflow.transportable_object import TransportableObject
from covalent.executor.base import AsyncBaseExecutor

from headway.lifecycle import TERMINAL, JobState
from headway_client.errors import ClientError, ConflictError, JobNotFoundError
from headway_client.http.api import HeadwayApi
from headway_client.http.connect import configured_connection
from headway_client.http.outage import NO_RESPONSE, Outage
from headway_client.models import JobDetails
from headway_covalent.errors import ExecutorError
from headway_covalent.request import job_name, training_request
from headway_covalent.storage import TaskStorage
from headway_covalent.task import Task

EXECUTOR_PLUGIN_NAME = "HeadwayExecutor"

_EXECUTOR_PLUGIN_DEFAULTS = {
    "image": "",
    "role_arn": "",
    "s3_uri": "",
    "instance_type": "",
    "volume_gb": 30,
    "max_runtime_s": 86_400,
    "poll_s": 15.0,
}

_TRANSIENT = (*NO_RESPONSE, TimeoutError)
"""The queue, or Covalent's own database, does not answer now."""


class HeadwayExecutor(AsyncBaseExecutor):  # type: ignore[misc]  # Covalent has no types
    """Runs each task of a workflow as a training job of the queue, on one instance.

    The job of a task may wait, be preempted and begin again: a task should do no harm if it runs twice.

    Args:
        image: The training image; its Python has to be that of the workflow (3.11 for 3.11).
        role_arn: The role of the training jobs.
        s3_uri: Where tasks and results are kept, as pickles that are not signed. Who may write there runs code where
            Covalent runs, with its user's rights, and in the training jobs, with their role: let nobody write there but
            this user and that role.
        volume_gb: The size of its volume, GB.
        max_runtime_s: The longest time of an attempt, s.
        priority: 0 to 9999, higher goes first; None for the policy's default.
        team: The team to charge.
        tags: Further tags.
        request: Further members of CreateTrainingJob, such as ``{"EnableManagedSpotTraining": True, …}``.
        profile: A profile of Headway's profile file.
        endpoint: The queue's endpoint.
        region: The queue's region.
        poll_s: Time between two questions for the state of a job, s.
        settings: Those of every executor of Covalent, such as ``log_stdout``.
    """

    def __init__(
        self,
        image: str = "",
        role_arn: str = "",
        s3_uri: str = "",
        instance_type: str = "",
        *,
        volume_gb: int = 30,
        max_runtime_s: int = 86_400,
        priority: int | None = None,
        team: str | None = None,
        tags: Mapping[str, str] | None = None,
        request: Mapping[str, Any] | None = None,
        profile: str | None = None,
        endpoint: str | None = None,
        region: str | None = None,
        poll_s: float = 15.0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        # Covalent stores the attributes as JSON, and makes the executor again from them.
        self.image = image
        self.role_arn = role_arn
        self.s3_uri = s3_uri
        self.instance_type = instance_type
        self.volume_gb = volume_gb
        self.max_runtime_s = max_runtime_s
        self.priority = priority
        self.team = team
        self.tags = dict(tags or {})
        self.request = dict(request or {})
        self.profile = profile
        self.endpoint = endpoint
        self.region = region
        self.poll_s = poll_s

    async def run(
        self, function: partial[Any], args: Sequence[Any], kwargs: Mapping[str, Any], task_metadata: Mapping[str, Any]
    ) -> TransportableObject:
        """Run a task and return its result.

        Args:
            function: The function, as Covalent hands it to executors.
            args: Its arguments, pickled.
            kwargs: Its keyword arguments, pickled.
            task_metadata: The dispatch and the node.

        Raises:
            TaskRuntimeError: The task, or the request for its job, failed; the reason is in the node's standard error.
            TaskCancelledError: It was cancelled.
        """
        name = job_name(task_metadata["dispatch_id"], task_metadata["node_id"])
        try:
            task = Task.of(function, args, kwargs)
            request = training_request(name, vars(self))
            connection = configured_connection(endpoint=self.endpoint, profile=self.profile, region=self.region)
            storage, api = TaskStorage(connection.aws_client("s3"), self.s3_uri), HeadwayApi.connect(connection)
            await asyncio.to_thread(storage.put, name, task)
            await self.set_job_handle(name)
            if await self.get_cancel_requested():
                raise TaskCancelledError
            await self._submit(api, request)
            details = await self._ended(api, name)
            self.task_stdout.write(f"training job {name}: {details.state}\n")
            if details.state is JobState.COMPLETED:
                content = await asyncio.to_thread(storage.result, details.attempts[-1].name)
                return TransportableObject(pickle.loads(content))  # noqa: S301
        except (ClientError, ExecutorError) as error:
            raise self._failed(str(error)) from error
        if details.state is JobState.STOPPED and await self.get_cancel_requested():
            raise TaskCancelledError
        raise self._failed(f"training job {name} {details.state}: {details.reason.message}")

    async def cancel(self, task_metadata: Mapping[str, Any], job_handle: Any) -> bool:
        """Stop the job of a task.

        Args:
            task_metadata: The dispatch and the node.
            job_handle: The job's name.

        Returns:
            Whether it stops; otherwise it has ended, or `run` does not submit it, or stops it.
        """
        del task_metadata  # The handle has it all.
        connection = configured_connection(endpoint=self.endpoint, profile=self.profile, region=self.region)
        try:
            await asyncio.to_thread(HeadwayApi.connect(connection).stop_job, str(job_handle))
        except (JobNotFoundError, ConflictError):
            return False
        return True

    async def _submit(self, api: HeadwayApi, request: Mapping[str, Any]) -> None:
        outage = Outage(time.monotonic)
        while True:
            try:
                await asyncio.to_thread(api.submit, request)
            except NO_RESPONSE as error:
                # The queue may have accepted it: the same request is the same job, whose end is waited for.
                outage.tolerate(error)
            else:
                return
            await asyncio.sleep(self.poll_s)

    async def _ended(self, api: HeadwayApi, name: str) -> JobDetails:
        """Wait for the end of a job."""
        outage = Outage(time.monotonic)
        while True:
            try:
                details = await asyncio.to_thread(api.get_job, name)
                if details.state in TERMINAL:
                    return details
                if await self.get_cancel_requested():
                    # It may have ended since the read: the next one says how.
                    with suppress(ConflictError):
                        await asyncio.to_thread(api.stop_job, name)
                outage.over()
            except _TRANSIENT as error:
                outage.tolerate(error)
            await asyncio.sleep(self.poll_s)

    def _failed(self, reason: str) -> TaskRuntimeError:
        self.task_stderr.write(f"{reason}\n")
        return TaskRuntimeError(reason)
