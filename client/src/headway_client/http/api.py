"""The client of the queue's HTTP API: one public class with a documented method for each call, hence over 400 lines."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from headway.api_documents.jobs import JobPage
from headway_client.alternatives import is_item
from headway_client.errors import ClientError, RefusedError, ServerFaultError
from headway_client.http import error_mapping
from headway_client.http.batch_submit import Batch
from headway_client.http.decode import decode
from headway_client.http.transport import IF_NONE_MATCH_HEADER, Answer, Limits, Transport
from headway_client.models import (
    ArrayMember,
    BatchResult,
    Capacity,
    Configuration,
    ConfigurationEffects,
    ConfigurationHistory,
    ConfigurationVersion,
    DeadLetters,
    DryRun,
    EndedJob,
    EventPage,
    Explanation,
    Forecast,
    ForgottenOwner,
    HistoryPage,
    Job,
    JobDetails,
    MemberPage,
    OperatorActions,
    PoolUse,
    Recount,
    Redrive,
    RogueJob,
    RogueJobs,
    ServerVersion,
    Submission,
    Summary,
    Usage,
    UsageComparison,
    UsageRepair,
    WhatIf,
)

if TYPE_CHECKING:
    from headway.accounting.differences import Difference
    from headway_client.config.credentials_source import CredentialsSource
    from headway_client.config.profile import Connection

PAGE_SIZE = 100
"""Entries on one page that every server allows. Without a `limit`, a server's page has as many as it allows."""

_Pages = TypeVar("_Pages", ConfigurationHistory, OperatorActions)

CONFIG_PAGE_SIZE = 50
"""Maximum number of configurations on one page of the server."""

MEMBERS_PAGE_SIZE = 1000
"""Maximum number of members of an array on one page of the server."""

IDEMPOTENCY_HEADER = "Idempotency-Key"

IF_MATCH_HEADER = "If-Match"


class HeadwayApi:
    """The queue at one endpoint.

    Every method raises subclasses of `headway_client.errors.ClientError`, among them `ServerTooOldError` if the server
    does not support the call.
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
        """Create a client; no request is sent.

        Args:
            endpoint: the API's URL with its stage, such as ``https://HOST/v1``.
            region: the AWS region of the API, for the signature.
            credentials: botocore credentials of the caller.
            api_id: the API's id, if `endpoint` is the DNS name of a VPC endpoint.
            limits: timeouts and retries.
        """
        self.endpoint = endpoint
        self._transport = Transport(endpoint, region=region, credentials=credentials, api_id=api_id, limits=limits)

    @classmethod
    def connect(
        cls, connection: Connection, *, credentials: CredentialsSource | None = None, limits: Limits | None = None
    ) -> HeadwayApi:
        """Create a client from the result of `headway_client.resolve_connection`.

        Args:
            connection: the endpoint and the credentials.
            credentials: sign in place of those of the connection.
            limits: timeouts and retries.
        """
        return cls(
            connection.endpoint,
            region=connection.region,
            credentials=credentials or connection.credentials(),
            api_id=connection.api_id,
            limits=limits,
        )

    @property
    def region(self) -> str:
        """The AWS region of the API."""
        return self._transport.region

    @property
    def server_version(self) -> str | None:
        """The version in the server's last response; None before the first response, or if it has none."""
        return self._transport.server_version

    def now_s(self) -> float:
        """Return the queue's time at its last response, s since 1970, to compare the times in responses with.

        Before the first response it is this machine's time.
        """
        known = self._transport.queue_time_s
        return time.time() if known is None else known

    @property
    def clock_skew_s(self) -> float | None:
        """Seconds by which the server's clock was ahead at its last response; None before the first response."""
        return self._transport.clock_skew_s

    def submit(self, request: Mapping[str, Any], *, idempotency_key: str | None = None) -> Submission:
        """Submit a CreateTrainingJob request.

        Args:
            request: boto3's parameters of CreateTrainingJob; a tag carries the priority. Or the result of
                `headway_client.alternatives.with_alternatives`, of `headway_client.dependencies.with_dependencies`, or
                of `headway_client.reuse.with_reuse`, or of `headway_client.sweeps.with_sweep`.
            idempotency_key: identifies this submission: repeated with the same key, it returns ``created=True`` again.
                1 to 128 letters, digits and ``_ . : -``; by default each call has a new key.

        Raises:
            RefusedError: the request is not valid; the fields say what to change.
            ConflictError: the queue has a different request under that name.
        """
        answer = self._transport.send("POST", [_path_for(request)], body=request, headers=_key(idempotency_key))
        return Submission(job=decode(Job, answer.document), created=answer.status == 201)

    def submit_many(
        self,
        requests: Iterable[Mapping[str, Any]],
        *,
        on_result: Callable[[BatchResult], None] | None = None,
        stop_when_full: bool = False,
    ) -> list[BatchResult]:
        """Submit many CreateTrainingJob requests; each is accepted or refused independently.

        They are sent in chunks. Requests for which the server had no time are sent again, as long as there is progress.
        If sending fails after the first chunk, the results of the remaining requests have that error.

        Args:
            requests: as for `submit`, one mapping per job.
            on_result: called with each result as soon as it is available.
            stop_when_full: send no further chunk after one with a request for which the queue was full; the remaining
                requests have that error.

        Returns:
            The results in the order of the requests.

        Raises:
            ClientError: sending the first chunk failed.
        """
        headers = _key(None)

        def send(chunk: Sequence[Mapping[str, Any]]) -> object:
            return self._send_new("POST", ["job-batches"], body={"requests": chunk}, headers=headers).document

        batch = Batch(list(requests), endpoint=self.endpoint, on_result=on_result, stop_when_full=stop_when_full)
        return batch.submit(send, self._transport.pause)

    def dry_run(self, request: Mapping[str, Any]) -> DryRun:
        """Return what submitting a request would do, without doing it; raises what `submit` would raise."""
        # A server without dry runs would ignore the parameter and accept the request.
        if self.server_version is None:
            self.version()
        answer = self._send_new("POST", [_path_for(request)], query=[("dryRun", "true")], body=request)
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
        """Yield the jobs that match all given filters; pages are requested as needed.

        Args:
            states: the states to include; by default all of jobs that have not ended. Jobs with instances come first,
                then the queue in rank order, then ended jobs, newest first.
            limit: maximum number of jobs; None for all.
            mine: only jobs that the caller submitted.
            owner: only jobs that this ARN submitted.
            team: only jobs of this team.
            name_contains: only jobs whose name contains this text.
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
            query = [*wanted, *_page_query(remaining, token)]
            page = self._transport.send("GET", ["jobs"], query=query).document
            # A server without filters ignores them.
            if chosen and self.server_version is None:
                raise error_mapping.too_old(self.endpoint, None)
            jobs, following = _page(page)
            yield from jobs[:remaining]
            if following is None:
                return
            if following == token:
                raise ServerFaultError("The queue returns the same page again and again. Please report this.")
            token = following
            remaining = None if remaining is None else remaining - len(jobs)

    def first_jobs(self, *, states: Iterable[str] = (), name_contains: str | None = None) -> tuple[Job, ...]:
        """Return the first jobs of `list_jobs`, in one request: as many as the server returns at once.

        Args:
            states: as for `list_jobs`.
            name_contains: as for `list_jobs`; a server that looks at some jobs only may return none.
        """
        query = [*(("state", state) for state in states), *([("nameContains", name_contains)] if name_contains else [])]
        return _page(self._transport.send("GET", ["jobs"], query=query).document)[0]

    def members(self, array: str, *, start: int = 0, limit: int | None = None) -> Iterator[ArrayMember]:
        """Yield the members of an array by their index, those whose turn has not come included.

        Pages are requested as needed.

        Args:
            array: the array's name.
            start: the index of the first member.
            limit: maximum number of members; None for all.

        Raises:
            JobNotFoundError: there is no such job.
            RefusedError: the job is no array.
        """
        remaining = limit
        following: int | None = start
        while following is not None and (remaining is None or remaining > 0):
            size = MEMBERS_PAGE_SIZE if remaining is None else min(MEMBERS_PAGE_SIZE, remaining)
            query = [("from", str(following)), ("limit", str(size))]
            page = decode(MemberPage, self._send_new("GET", ["jobs", array, "members"], query=query).document)
            yield from page.members[:remaining]
            if page.next_index is not None and page.next_index <= following:
                raise ServerFaultError("The queue returns the same page again and again. Please report this.")
            following = page.next_index
            remaining = None if remaining is None else remaining - len(page.members)

    def events(
        self,
        *,
        after: str | None = None,
        since: str | None = None,
        job: str | None = None,
        team: str | None = None,
        codes: Iterable[str] = (),
        limit: int = PAGE_SIZE,
    ) -> EventPage:
        """Return a page of the events of the last 7 days, in the order in which they were recorded.

        Args:
            after: the cursor of a page or an event before: only later events.
            since: only events that happened since this time, as in the API.
            job: only events of this job.
            team: only events of jobs of this team.
            codes: only events with one of these reasons; by default with any.
            limit: maximum number of events, 1 to 100.

        Raises:
            RefusedError: the cursor or a code is not valid.
        """
        filters = [("after", after), ("since", since), ("job", job), ("team", team)]
        given = [(name, value) for name, value in filters if value is not None]
        query = [*given, *(("code", code) for code in codes), ("limit", str(limit))]
        return decode(EventPage, self._send_new("GET", ["events"], query=query).document)

    def get_job(self, name: str) -> JobDetails:
        """Return a job with its attempts, reasons and history; raises `JobNotFoundError` if there is none."""
        return decode(JobDetails, self._transport.send("GET", ["jobs", name]).document)

    def stop_job(self, name: str, reason: str | None = None) -> Job:
        """Stop a job: a waiting job leaves the queue, a running one is stopped. The call is idempotent.

        Args:
            name: the job's name.
            reason: one line of up to 256 characters, which the queue stores with the stop.

        Raises:
            JobNotFoundError: there is no such job.
            ConflictError: it has completed or failed.
            RefusedError: the reason is too long, or not one line of visible text.
        """
        query = [("reason", reason)] if reason is not None else []
        return decode(Job, self._transport.send("DELETE", ["jobs", name], query=query).document)

    def set_priority(self, name: str, priority: int) -> Job:
        """Change the priority of a job.

        Args:
            name: the job's name.
            priority: 0 to 9999; a higher priority goes first.

        Raises:
            JobNotFoundError: there is no such job.
            ConflictError: it has ended.
        """
        answer = self._transport.send("PATCH", ["jobs", name], body={"priority": priority})
        return decode(Job, answer.document)

    def change_job(
        self,
        name: str,
        *,
        max_runtime_s: int | None = None,
        instances: int | None = None,
        tags: Mapping[str, str] | None = None,
        removed_tags: Sequence[str] | None = None,
    ) -> Job:
        """Change the request of a waiting job; None for what stays.

        A job that asks for no more keeps its place in the queue; another one waits as if it was submitted now.

        Args:
            name: the job's name.
            max_runtime_s: ``StoppingCondition.MaxRuntimeInSeconds``.
            instances: ``ResourceConfig.InstanceCount``.
            tags: tags to add, or to give another value.
            removed_tags: keys of tags to remove, if the job has them.

        Raises:
            JobNotFoundError: there is no such job.
            ConflictError: it has instances, or has ended.
            RefusedError: the changed request would not be accepted as a submission.
        """
        wanted = {
            "maxRuntimeSeconds": max_runtime_s,
            "instances": instances,
            "tags": tags,
            "removeTags": removed_tags,
        }
        body = {name: value for name, value in wanted.items() if value is not None}
        return decode(Job, self._send_new("POST", ["jobs", name, "change"], body=body).document)

    def set_comment(self, name: str, text: str) -> Job:
        """Change the comment of a job, in whichever state it is. Everybody who may list jobs sees it.

        Args:
            name: the job's name.
            text: one line of up to 256 characters; empty removes the comment.

        Raises:
            JobNotFoundError: there is no such job.
            RefusedError: the text is too long, or not one line of visible text.
        """
        return decode(Job, self._send_new("PUT", ["jobs", name, "comment"], body={"comment": text}).document)

    def hold(self, name: str) -> Job:
        """Hold a waiting job until it is released; it keeps its place in the queue. The call is idempotent.

        Raises:
            JobNotFoundError: there is no such job.
            ConflictError: it has instances, or has ended.
        """
        return decode(Job, self._send_new("POST", ["jobs", name, "hold"]).document)

    def release(self, name: str) -> Job:
        """Release a held job. The call is idempotent.

        Raises:
            JobNotFoundError: there is no such job.
            ConflictError: it has ended.
        """
        return decode(Job, self._send_new("POST", ["jobs", name, "release"]).document)

    def explain(self, name: str) -> Explanation:
        """Return why a job is in its state, what it waits for, and how to change that."""
        return decode(Explanation, self._send_new("GET", ["jobs", name, "explanation"]).document)

    def forecast(self, job: str | None = None, limit: int = 100) -> Forecast:
        """Return when waiting jobs are expected to start, the soonest first.

        Args:
            job: only this job.
            limit: maximum number of jobs, 1 to 100.

        Raises:
            JobNotFoundError: there is no such job.
        """
        query = [("limit", str(limit)), *([("job", job)] if job is not None else [])]
        return decode(Forecast, self._send_new("GET", ["forecast"], query=query).document)

    def what_if(self, changes: Iterable[Mapping[str, Any]]) -> WhatIf:
        """Return the effect of changes without making them.

        Args:
            changes: 1 to 10, applied in order, each one of
                ``{"change": "submit", "request": {...}}``, ``{"change": "withdraw", "jobName": ...}``,
                ``{"change": "reprioritise", "jobName": ..., "priority": ...}`` and
                ``{"change": "resize", "pool": ..., "size": ...}``.

        Raises:
            RefusedError: a change can't be made; the fields say which and why.
            JobNotFoundError: there is no job of the name that a change has.
        """
        answer = self._send_new("POST", ["what-if"], body={"changes": list(changes)})
        return decode(WhatIf, answer.document)

    def version(self) -> ServerVersion:
        """Return the versions of the server and of its API."""
        return decode(ServerVersion, self._send_new("GET", ["version"]).document)

    def capacity(self) -> Capacity:
        """Return the pools and the use of their instances."""
        return decode(Capacity, self._transport.send("GET", ["capacity"]).document)

    def ended_jobs(
        self,
        since: str,
        until: str | None = None,
        *,
        states: Iterable[str] = (),
        limit: int | None = None,
        mine: bool = False,
        owner: str | None = None,
        team: str | None = None,
    ) -> Iterator[EndedJob]:
        """Yield the jobs that ended in a span of time, the newest first; pages are requested as needed.

        Args:
            since: a UTC day such as ``2026-11-25``, or a time with its zone such as ``2026-11-25T08:00Z``.
            until: the same; the jobs ended before. By default up to now.
            states: only these states.
            limit: maximum number of jobs; None for all.
            mine: only jobs that the caller submitted.
            owner: only jobs that this ARN submitted.
            team: only jobs of this team.
        """
        given = {"since": since, "until": until, "owner": owner, "team": team, "mine": "true" if mine else None}
        query = [(name, value) for name, value in given.items() if value is not None]
        query += [("state", state) for state in states]
        token: str | None = None
        remaining = limit
        while remaining is None or remaining > 0:
            page = self._history([*query, *_page_query(remaining, token)])
            yield from page.jobs[:remaining]
            if page.next_token is None:
                return
            if page.next_token == token:
                raise ServerFaultError("The queue returns the same page again and again. Please report this.")
            token = page.next_token
            remaining = None if remaining is None else remaining - len(page.jobs)

    def newest_ended_jobs(self, since: str) -> HistoryPage:
        """Return the newest jobs that ended since a time, at most 100, in one request.

        Args:
            since: as for `ended_jobs`.
        """
        return self._history([("since", since), *_page_query(PAGE_SIZE, None)])

    def _history(self, query: Sequence[tuple[str, str]]) -> HistoryPage:
        return decode(HistoryPage, self._send_new("GET", ["history"], query=query).document)

    def usage(
        self, by: str, first: str, last: str | None = None, *, step: str = "total", predictions: bool = False
    ) -> Usage:
        """Return sums of usage.

        Args:
            by: ``team``, ``owner``, ``pool``, or ``tag:`` and a tag of the configuration.
            first: the first UTC day, such as ``2026-11-01``.
            last: the last UTC day; by default today.
            step: ``total``, ``month`` or ``day``: what the rows are by.
            predictions: whether to return how good predictions of run times were; an older queue does not.
        """
        query = [("by", by), ("from", first), *([("to", last)] if last is not None else []), ("step", step)]
        query += [("predictions", "true")] if predictions else []
        return decode(Usage, self._transport.send("GET", ["usage"], query=query).document)

    def recount(self, token: str | None = None) -> Recount:
        """Compare a page of ended jobs with the sums of usage, and add what these lack. It may be repeated.

        Args:
            token: where to continue, from the page before.
        """
        query = [("nextToken", token)] if token is not None else []
        return decode(Recount, self._transport.send("POST", ["usage", "recount"], query=query).document)

    def forget(self, owner: str, token: str | None = None) -> ForgottenOwner:
        """Take an owner out of a page of their ended jobs, and on the last page out of the sums. It may be repeated.

        Args:
            owner: the ARN.
            token: where to continue, from the page before.
        """
        query = [("nextToken", token)] if token is not None else []
        answer = self._send_new("POST", ["forget"], query=query, body={"owner": owner})
        return decode(ForgottenOwner, answer.document)

    def compare_usage(self, by: str, day: str, token: str | None = None) -> UsageComparison:
        """Return what a page of jobs has in a day, and on the last page the sums of the day. Nothing is written.

        Args:
            by: ``team``, ``owner`` or ``pool``.
            day: a UTC day that is over, such as ``2026-11-24``.
            token: where to continue, from the page before.
        """
        query = [("by", by), ("day", day), *([("nextToken", token)] if token is not None else [])]
        return decode(UsageComparison, self._send_new("GET", ["usage", "comparison"], query=query).document)

    def repair_usage(self, by: str, day: str, revision: int, differences: Sequence[Difference]) -> UsageRepair:
        """Give figures of a day the values that the jobs have. The call is idempotent.

        Args:
            by: ``team``, ``owner`` or ``pool``.
            day: the UTC day that was compared, such as ``2026-11-24``.
            revision: that of the comparison, or of the repair before of the same comparison.
            differences: what all pages of the comparison have shown, at most 20.

        Raises:
            ConflictError: the sums have changed since the comparison.
        """
        listed = [
            {"name": each.name, "figure": each.figure, "stored": each.stored, "computed": each.computed}
            for each in differences
        ]
        body = {"by": by, "day": day, "revision": revision, "differences": listed}
        return decode(UsageRepair, self._send_new("POST", ["usage", "repair"], body=body).document)

    def pause(self, reason: str, pool: str | None = None) -> Capacity:
        """Pause starts in a pool, or in all pools, until it is resumed. The call is idempotent.

        Args:
            reason: one line of up to 200 characters, which is shown with the waiting jobs.
            pool: the pool; None for all.

        Raises:
            PoolNotFoundError: there is no such pool.
        """
        return self._on_pools(pool, "pause", {"reason": reason})

    def drain(self, pool: str, reason: str, *, stop: bool = False) -> Capacity:
        """Pause a pool so that it becomes empty. The call is idempotent.

        Args:
            reason: as for `pause`.
            stop: stop and requeue the running jobs instead of waiting for their end.

        Raises:
            PoolNotFoundError: there is no such pool.
        """
        return self._on_pools(pool, "drain", {"reason": reason, "stop": stop})

    def resume(self, pool: str | None = None) -> Capacity:
        """End the pause of a pool, or the pause of all pools (None). The call is idempotent."""
        return self._on_pools(pool, "resume", None)

    def resize(self, pool: str, size: int, *, reason: str = "") -> Capacity:
        """Change the size of a pool in the configuration.

        Args:
            size: its number of instances.
            reason: the reason, for the history.

        Raises:
            PoolNotFoundError: there is no such pool.
            RefusedError: the configuration would not be valid with that size.
        """
        body = {"size": size, "reason": reason} if reason else {"size": size}
        answer = self._send_new("PATCH", ["pools", pool], body=body)
        return _capacity(answer.document)

    def _on_pools(self, pool: str | None, action: str, body: Mapping[str, Any] | None) -> Capacity:
        if pool is None:
            return decode(Capacity, self._send_new("POST", [action], body=body).document)
        return _capacity(self._send_new("POST", ["pools", pool, action], body=body).document)

    def summary(self, known: str | None = None) -> Summary | None:
        """Return one picture of the queue, at most a second old.

        Args:
            known: the version of a summary that the caller has.

        Returns:
            The summary; None if it is the known one.
        """
        headers = {IF_NONE_MATCH_HEADER: f'"{known}"'} if known is not None else {}
        answer = self._send_new("GET", ["summary"], headers=headers)
        return None if answer.document is None else decode(Summary, answer.document)

    def rogue_jobs(self) -> RogueJobs:
        """Return the rogue training jobs, the first hundred by name."""
        return decode(RogueJobs, self._transport.send("GET", ["rogue-jobs"]).document)

    def stop_rogue_job(self, name: str) -> RogueJob:
        """Request the stop of a rogue training job. The call is idempotent.

        The queue calls SageMaker within a minute.

        Raises:
            RogueJobNotFoundError: the queue knows no such live training job.
        """
        return decode(RogueJob, self._send_new("DELETE", ["rogue-jobs", name]).document)

    def get_config(self) -> Configuration:
        """Return the configuration: the pools and the policy."""
        return decode(Configuration, self._transport.send("GET", ["config"]).document)

    def config_effects(self, settings: Mapping[str, Any]) -> ConfigurationEffects:
        """Return what a configuration would do, without setting it.

        Args:
            settings: the document; its version does not matter.

        Raises:
            RefusedError: the document is not valid.
        """
        body = {name: value for name, value in settings.items() if name != "version"}
        return decode(ConfigurationEffects, self._send_new("POST", ["config", "effects"], body=body).document)

    def config_history(self, *, limit: int = CONFIG_PAGE_SIZE) -> ConfigurationHistory:
        """Return the configurations that were in force, the newest first, with who set each, when and why.

        Args:
            limit: maximum number of versions, over all pages.
        """
        return self._pages(ConfigurationHistory, "versions", ["config", "history"], limit)

    def actions(self, *, limit: int = CONFIG_PAGE_SIZE) -> OperatorActions:
        """Return what operators have done to the whole queue, the newest first, with who, when, from where and why.

        Args:
            limit: maximum number of actions, over all pages.
        """
        return self._pages(OperatorActions, "actions", ["actions"], limit)

    def _pages(self, kind: type[_Pages], member: str, segments: Sequence[str], limit: int) -> _Pages:
        """Return the pages of a listing as one, with up to `limit` entries.

        Args:
            kind: the document, whose member ``next`` is where the next page begins.
            member: its member with the entries.
            segments: the path of the call.
            limit: maximum number of entries.
        """
        entries: list[Any] = []
        after: str | None = None
        while True:
            query = [("limit", str(min(CONFIG_PAGE_SIZE, limit - len(entries))))]
            query += [("after", after)] if after is not None else []
            page: Any = decode(kind, self._send_new("GET", segments, query=query).document)
            entries += getattr(page, member)
            after = page.next
            if after is None or len(entries) >= limit:
                merged: dict[str, Any] = {member: tuple(entries), "next": after}
                return kind(**merged).with_document({**merged, member: [each.document for each in entries]})

    def config_version(self, version: int, *, since: int | None = None) -> ConfigurationVersion:
        """Return a configuration that was in force, and how it differs from another one.

        Args:
            version: as the history names it.
            since: the version that it is compared with; by default the one before it.

        Raises:
            VersionNotFoundError: no such version is recorded, or not any more.
        """
        query = [] if since is None else [("since", str(since))]
        answer = self._send_new("GET", ["config", "history", str(version)], query=query)
        return decode(ConfigurationVersion, answer.document)

    def put_config(
        self, settings: Mapping[str, Any], *, if_version: int | None = None, force: bool = False, reason: str = ""
    ) -> Configuration:
        """Replace the configuration, unless it has changed since it was read.

        Args:
            settings: the document. One from `get_config` has its version as ``version``.
            if_version: the version on which the document is based, in place of its own ``version``.
            force: replace the configuration whatever its version is.
            reason: the reason, for the history.

        Raises:
            RefusedError: the document is not valid, or has no version.
            ConfigurationChangedError: the configuration has changed since that version; the message says how.
        """
        version = settings.get("version") if if_version is None else if_version
        body = {name: value for name, value in settings.items() if name != "version"}
        headers = {IF_MATCH_HEADER: "*"} if force else {}
        if not force and version is not None:
            # Also in the document: a server without versions refuses it there, but ignores the header.
            body["version"] = version
            headers = {IF_MATCH_HEADER: f'"{version}"'} if _is_version(version) else {}
        try:
            query = [("reason", reason)] if reason else []
            answer = self._transport.send("PUT", ["config"], query=query, body=body, headers=headers)
        except RefusedError as error:
            if headers and not force and any(item.field == "version" for item in error.fields):
                raise error_mapping.too_old(self.endpoint, error) from error
            raise
        return decode(Configuration, answer.document)

    def dead_letters(self) -> DeadLetters:
        """Return the dead letters (events and wake-up messages), without removing them."""
        return decode(DeadLetters, self._transport.send("GET", ["dead-letters"]).document)

    def redrive(self) -> Redrive:
        """Redrive the dead letters; those that fail again remain. After a retry the result counts the last try only."""
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
        """Send a request that is unknown to servers from before responses had a version."""
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
        # Either the endpoint is not Headway's, or the server is old; `capacity` has existed from the beginning.
        with suppress(ClientError):
            self.capacity()
            return self.server_version is None
        return False


def _is_version(version: object) -> bool:
    return isinstance(version, int) and not isinstance(version, bool) and version >= 0


def _path_for(request: Mapping[str, Any]) -> str:
    """Return where a request is submitted: SageMaker's own has no place for more than that."""
    return "add-job" if is_item(request) else "jobs"


def _key(given: str | None) -> dict[str, str]:
    return {IDEMPOTENCY_HEADER: given or str(uuid.uuid4())}


def _page_query(remaining: int | None, token: str | None) -> list[tuple[str, str]]:
    """Return the query of a page: as many entries as the server allows, if more are wanted than every server allows."""
    size = [("limit", str(remaining))] if remaining is not None and remaining <= PAGE_SIZE else []
    return [*size, *([("nextToken", token)] if token is not None else [])]


def _page(document: object) -> tuple[tuple[Job, ...], str | None]:
    page = decode(JobPage, document)
    return page.jobs, page.next_token


def _capacity(document: object) -> Capacity:
    """Return the pool of a response as a capacity of one pool."""
    pool = decode(PoolUse, document)
    return Capacity(pools=(pool,)).with_document(pool.document)
