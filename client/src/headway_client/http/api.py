"""The queue's API as methods."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headway.api_documents.jobs import JobPage
from headway_client.errors import ClientError, RefusedError, ServerFaultError
from headway_client.http import error_mapping
from headway_client.http.batch_submit import Batch
from headway_client.http.transport import Answer, CredentialsSource, Limits, Transport
from headway_client.models import (
    BatchResult,
    Capacity,
    Configuration,
    DeadLetters,
    DryRun,
    Explanation,
    Forecast,
    Job,
    JobDetails,
    PoolUse,
    Redrive,
    RogueJob,
    RogueJobs,
    ServerVersion,
    Submission,
    WhatIf,
)
from headway_client.models.decode import decode

if TYPE_CHECKING:
    from headway_client.config.profile import Connection

PAGE_SIZE = 100
"""The most jobs that the server sends at a time."""

IDEMPOTENCY_HEADER = "Idempotency-Key"

IF_MATCH_HEADER = "If-Match"


class HeadwayApi:
    """The queue behind one endpoint. Every method raises kinds of `headway_client.errors.ClientError`.

    A server that is older than what a method needs makes it raise `ServerTooOldError`.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        region: str,
        credentials: CredentialsSource,
        api_id: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Make a face of the queue; nothing is sent yet.

        Args:
            endpoint: the API's URL with its stage, such as ``https://HOST/v1``.
            region: the AWS region of the API, for the signature.
            credentials: botocore credentials of the caller.
            api_id: the API's id where `endpoint` is a VPC endpoint's own name.
            limits: timeouts and retries.
        """
        self.endpoint = endpoint
        self._transport = Transport(endpoint, region=region, credentials=credentials, api_id=api_id, limits=limits)

    @classmethod
    def connect(cls, connection: Connection, *, limits: Limits | None = None) -> HeadwayApi:
        """Make a face of the queue from what `headway_client.resolve_connection` found."""
        return cls(
            connection.endpoint,
            region=connection.region,
            credentials=connection.credentials(),
            api_id=connection.api_id,
            limits=limits,
        )

    @property
    def server_version(self) -> str | None:
        """The version that the server said with its last answer; None before that, or if it says none."""
        return self._transport.server_version

    @property
    def clock_skew_s(self) -> float | None:
        """Seconds by which the server's clock was ahead of this machine's at its last answer; None before that."""
        return self._transport.clock_skew_s

    def submit(self, request: Mapping[str, Any], *, idempotency_key: str | None = None) -> Submission:
        """Hand in a CreateTrainingJob request.

        Args:
            request: boto3's parameters of CreateTrainingJob; the priority rides on a tag.
            idempotency_key: names this submission, so that whoever repeats it with the same key is told again that
                it made the job: 1 to 128 letters, digits and ``_ . : -``. By default every call has a fresh one.

        Raises:
            RefusedError: the request has to be changed; its fields say what.
            ConflictError: the queue holds a different request under that name.
        """
        answer = self._transport.send("POST", ["jobs"], body=request, headers=_key(idempotency_key))
        return Submission(job=decode(Job, answer.document), created=answer.status == 201)

    def submit_many(
        self, requests: Iterable[Mapping[str, Any]], *, on_result: Callable[[BatchResult], None] | None = None
    ) -> list[BatchResult]:
        """Hand in many CreateTrainingJob requests; each is taken or refused by itself.

        They are sent in chunks. What the server has no time for is sent again, as long as that gets on. If the
        queue is not reached any more after the first chunk, the results of those that remain have that error.

        Args:
            requests: boto3's parameters of CreateTrainingJob, each.
            on_result: called with each result as soon as there is one.

        Returns:
            What came of each, in the order of the requests.

        Raises:
            ClientError: already the first chunk could not be handed in.
        """
        headers = _key(None)

        def send(chunk: Sequence[Mapping[str, Any]]) -> object:
            return self._send_new("POST", ["job-batches"], body={"requests": chunk}, headers=headers).document

        return Batch(list(requests), endpoint=self.endpoint, on_result=on_result).submit(send, self._transport.pause)

    def dry_run(self, request: Mapping[str, Any]) -> DryRun:
        """Say what submitting a request would do, without doing it; raises what `submit` would raise."""
        # A server that does not know of dry runs would take the request in earnest.
        if self.server_version is None:
            self.version()
        answer = self._send_new("POST", ["jobs"], query=[("dryRun", "true")], body=request)
        return decode(DryRun, answer.document)

    def list_jobs(
        self,
        *,
        states: Iterable[str] = (),
        limit: int | None = None,
        mine: bool = False,
        owner: str | None = None,
        team: str | None = None,
        name_contains: str | None = None,
    ) -> Iterator[Job]:
        """Yield jobs page by page, as they are asked for; those that every given filter lets through.

        Args:
            states: the states wanted; none means all jobs that have not ended, those that hold instances
                first, then the line in rank order. Ended jobs come newest first.
            limit: at most so many; None for all.
            mine: only jobs that the caller submitted.
            owner: only jobs that this ARN submitted.
            team: only jobs of this team.
            name_contains: only jobs with this in their name.
        """
        filters = [
            ("owner", owner),
            ("team", team),
            ("nameContains", name_contains),
            ("mine", "true" if mine else None),
        ]
        chosen = [(name, value) for name, value in filters if value is not None]
        wanted = [*(("state", state) for state in states), *chosen]
        remaining = limit
        token: str | None = None
        while remaining is None or remaining > 0:
            size = PAGE_SIZE if remaining is None else min(PAGE_SIZE, remaining)
            query = [*wanted, ("limit", str(size))]
            if token is not None:
                query.append(("nextToken", token))
            page = self._transport.send("GET", ["jobs"], query=query).document
            # A server that does not know of filters passes over them.
            if chosen and self.server_version is None:
                raise error_mapping.too_old(self.endpoint, None)
            jobs, following = _page(page)
            yield from jobs[:remaining]
            if following is None:
                return
            if following == token:
                raise ServerFaultError("The queue sends the same page for ever. Please report this.")
            token = following
            remaining = None if remaining is None else remaining - len(jobs)

    def get_job(self, name: str) -> JobDetails:
        """Return a job with its attempts, reasons and history; `JobNotFoundError` if there is none."""
        return decode(JobDetails, self._transport.send("GET", ["jobs", name]).document)

    def stop_job(self, name: str) -> Job:
        """Stop a job: a waiting one leaves the queue, a running one is stopped; repeating it is harmless.

        Raises:
            JobNotFoundError: there is no such job.
            ConflictError: it has completed or failed before.
        """
        return decode(Job, self._transport.send("DELETE", ["jobs", name]).document)

    def set_priority(self, name: str, priority: int) -> Job:
        """Give a job another priority; `ConflictError` if it has ended."""
        answer = self._transport.send("PATCH", ["jobs", name], body={"priority": priority})
        return decode(Job, answer.document)

    def hold(self, name: str) -> Job:
        """Hold a waiting job until it is released; it keeps its place in the queue; idempotent.

        Raises:
            JobNotFoundError: there is no such job.
            ConflictError: it holds instances, or has ended.
        """
        return decode(Job, self._send_new("POST", ["jobs", name, "hold"]).document)

    def release(self, name: str) -> Job:
        """Let a job start again that was held; repeating is harmless; `ConflictError` if it has ended."""
        return decode(Job, self._send_new("POST", ["jobs", name, "release"]).document)

    def explain(self, name: str) -> Explanation:
        """Say why a job is where it is, what it waits for, and what can be done about it."""
        return decode(Explanation, self._send_new("GET", ["jobs", name, "explanation"]).document)

    def forecast(self, job: str | None = None, limit: int = 100) -> Forecast:
        """Say when waiting jobs are expected to start, the soonest first.

        Args:
            job: only of this one; `JobNotFoundError` if there is none.
            limit: at most so many jobs, 1 to 100.
        """
        query = [("limit", str(limit)), *([("job", job)] if job is not None else [])]
        return decode(Forecast, self._send_new("GET", ["forecast"], query=query).document)

    def what_if(self, changes: Iterable[Mapping[str, Any]]) -> WhatIf:
        """Say what changes would bring about, without making them.

        Args:
            changes: 1 to 10, made one after the other, each one of
                ``{"change": "submit", "request": {...}}``, ``{"change": "withdraw", "jobName": ...}``,
                ``{"change": "reprioritise", "jobName": ..., "priority": ...}`` and
                ``{"change": "resize", "pool": ..., "size": ...}``.

        Raises:
            RefusedError: a change can't be made; its fields say which and why.
        """
        answer = self._send_new("POST", ["what-if"], body={"changes": list(changes)})
        return decode(WhatIf, answer.document)

    def version(self) -> ServerVersion:
        """Return the version of the server, and of the API that it speaks."""
        return decode(ServerVersion, self._send_new("GET", ["version"]).document)

    def capacity(self) -> Capacity:
        """Return the pools and how their instances are used."""
        return decode(Capacity, self._transport.send("GET", ["capacity"]).document)

    def pause(self, reason: str, pool: str | None = None) -> Capacity:
        """Let nothing start in a pool, or anywhere, until it is resumed; repeating is harmless.

        Args:
            reason: why, in one line of up to 200 characters; it is shown to everyone whose jobs wait.
            pool: the pool; None for all. `PoolNotFoundError` if there is none of that name.
        """
        return self._on_pools(pool, "pause", {"reason": reason})

    def drain(self, pool: str, reason: str, *, stop: bool = False) -> Capacity:
        """Pause a pool so that it gets empty; repeating is harmless.

        Args:
            pool: the pool; `PoolNotFoundError` if there is none of that name.
            reason: why, as in `pause`.
            stop: whether what runs is stopped and put back into the line, rather than left to end.
        """
        return self._on_pools(pool, "drain", {"reason": reason, "stop": stop})

    def resume(self, pool: str | None = None) -> Capacity:
        """End the pause of a pool, or that of everything (None); repeating is harmless."""
        return self._on_pools(pool, "resume", None)

    def resize(self, pool: str, size: int) -> Capacity:
        """Change the size of a pool of the configuration; `RefusedError` if the rest of that does not allow it."""
        answer = self._send_new("PATCH", ["pools", pool], body={"size": size})
        return _capacity(answer.document)

    def _on_pools(self, pool: str | None, action: str, body: Mapping[str, Any] | None) -> Capacity:
        if pool is None:
            return decode(Capacity, self._send_new("POST", [action], body=body).document)
        return _capacity(self._send_new("POST", ["pools", pool, action], body=body).document)

    def rogue_jobs(self) -> RogueJobs:
        """Return the training jobs that did not come through the queue, the first hundred by name."""
        return decode(RogueJobs, self._transport.send("GET", ["rogue-jobs"]).document)

    def stop_rogue_job(self, name: str) -> RogueJob:
        """Have a training job stopped that did not come through the queue; repeating it is harmless.

        The queue asks SageMaker within a minute.

        Raises:
            RogueJobNotFoundError: the queue knows no live one of that name.
        """
        return decode(RogueJob, self._send_new("DELETE", ["rogue-jobs", name]).document)

    def get_config(self) -> Configuration:
        """Return the document that says which pools there are and what the policy is."""
        return decode(Configuration, self._transport.send("GET", ["config"]).document)

    def put_config(
        self, settings: Mapping[str, Any], *, if_version: int | None = None, force: bool = False
    ) -> Configuration:
        """Put that document, if it is valid and the configuration has not changed since it was read.

        Args:
            settings: the document. What `get_config` returned carries its version as ``version``.
            if_version: the version that the document was made from, in place of the one that it carries.
            force: replace the configuration, whatever its version is.

        Raises:
            RefusedError: the document is not valid, or nothing says which version it was made from.
            ConfigurationChangedError: the configuration has another version now; the message says what changed.
        """
        version = settings.get("version") if if_version is None else if_version
        body = {name: value for name, value in settings.items() if name != "version"}
        headers = {IF_MATCH_HEADER: "*"} if force else {}
        if not force and version is not None:
            # In the document, too: a server that does not know of versions refuses it, but ignores the header.
            body["version"] = version
            headers = {IF_MATCH_HEADER: f'"{version}"'} if _is_version(version) else {}
        try:
            answer = self._transport.send("PUT", ["config"], body=body, headers=headers)
        except RefusedError as error:
            if headers and not force and any(item.field == "version" for item in error.fields):
                raise error_mapping.too_old(self.endpoint, error) from error
            raise
        return decode(Configuration, answer.document)

    def dead_letters(self) -> DeadLetters:
        """Return the events and wake-ups that were put aside; they stay where they are."""
        return decode(DeadLetters, self._transport.send("GET", ["dead-letters"]).document)

    def redrive(self) -> Redrive:
        """Hand them to whom they were meant for; what fails stays. Its answer counts the last try's letters only."""
        return decode(Redrive, self._transport.send("POST", ["dead-letters", "redrive"]).document)

    def _send_new(
        self,
        method: str,
        segments: Sequence[str],
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request that servers without a version in their answers do not know."""
        try:
            return self._transport.send(method, segments, query=query, body=body, headers=headers)
        except ClientError as error:
            if self._is_too_old_for(error):
                raise error_mapping.too_old(self.endpoint, error) from error
            raise

    def _is_too_old_for(self, error: ClientError) -> bool:
        if self.server_version is not None:
            return False
        if error.status != 404 and error.code != error_mapping.NO_SUCH_PATH:
            return False
        # Either this is no endpoint of Headway's, or it is an old one: that knew of capacity from the first.
        with suppress(ClientError):
            self.capacity()
            return self.server_version is None
        return False


def _is_version(version: object) -> bool:
    return isinstance(version, int) and not isinstance(version, bool) and version >= 0


def _key(given: str | None) -> dict[str, str]:
    return {IDEMPOTENCY_HEADER: given or str(uuid.uuid4())}


def _page(document: object) -> tuple[tuple[Job, ...], str | None]:
    page = decode(JobPage, document)
    return page.jobs, page.next_token


def _capacity(document: object) -> Capacity:
    """The capacity of the one pool that an answer is about."""
    pool = decode(PoolUse, document)
    return Capacity(pools=(pool,)).with_document(pool.document)
