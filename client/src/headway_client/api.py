"""The queue's API as methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headway_client.documents import (
    Capacity,
    Configuration,
    DeadLetters,
    Job,
    JobDetails,
    Redrive,
    RogueJobs,
    Submission,
)
from headway_client.errors import ServerFaultError
from headway_client.transport import CredentialsSource, Limits, Transport

if TYPE_CHECKING:
    from headway_client.profile import Connection

PAGE_SIZE = 100
"""The most jobs that the server sends at a time."""


class HeadwayApi:
    """The queue behind one endpoint. Every method raises kinds of `headway_client.errors.ClientError`."""

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

    def submit(self, request: Mapping[str, Any]) -> Submission:
        """Hand in a CreateTrainingJob request.

        Args:
            request: boto3's parameters of CreateTrainingJob; the priority rides on a tag.

        Raises:
            RefusedError: the request has to be changed; its fields say what.
            ConflictError: the queue holds a different request under that name.
        """
        answer = self._transport.send("POST", ["jobs"], body=request)
        # 200 says that the queue held this request before. If it was sent more than once by us, what it held
        # is most likely our own earlier try whose answer was lost.
        created = answer.status == 201 or answer.tries > 1
        return Submission(job=Job.from_document(answer.document), created=created)

    def list_jobs(self, *, states: Iterable[str] = (), limit: int | None = None) -> Iterator[Job]:
        """Yield jobs page by page, as they are asked for.

        Args:
            states: the states wanted; none means all jobs that have not ended, those that hold instances
                first, then the line in rank order. Ended jobs come newest first.
            limit: at most so many; None for all.
        """
        wanted = [("state", state) for state in states]
        remaining = limit
        token: str | None = None
        while remaining is None or remaining > 0:
            size = PAGE_SIZE if remaining is None else min(PAGE_SIZE, remaining)
            query = [*wanted, ("limit", str(size))]
            if token is not None:
                query.append(("nextToken", token))
            page = self._transport.send("GET", ["jobs"], query=query).document
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
        return JobDetails.from_document(self._transport.send("GET", ["jobs", name]).document)

    def stop_job(self, name: str) -> Job:
        """Stop a job: a waiting one leaves the queue, a running one is stopped; repeating it is harmless.

        Raises:
            JobNotFoundError: there is no such job.
            ConflictError: it has completed or failed before.
        """
        return Job.from_document(self._transport.send("DELETE", ["jobs", name]).document)

    def set_priority(self, name: str, priority: int) -> Job:
        """Give a job another priority; `ConflictError` if it has ended."""
        answer = self._transport.send("PATCH", ["jobs", name], body={"priority": priority})
        return Job.from_document(answer.document)

    def capacity(self) -> Capacity:
        """Return the pools and how their instances are used."""
        return Capacity.from_document(self._transport.send("GET", ["capacity"]).document)

    def rogue_jobs(self) -> RogueJobs:
        """Return the training jobs that did not come through the queue, the first hundred by name."""
        return RogueJobs.from_document(self._transport.send("GET", ["rogue-jobs"]).document)

    def get_config(self) -> Configuration:
        """Return the document that says which pools there are and what the policy is."""
        return Configuration.from_document(self._transport.send("GET", ["config"]).document)

    def put_config(self, settings: Mapping[str, Any]) -> Configuration:
        """Put that document; `RefusedError` says what is wrong with it, and then nothing is changed."""
        return Configuration.from_document(self._transport.send("PUT", ["config"], body=settings).document)

    def dead_letters(self) -> DeadLetters:
        """Return the events and wake-ups that were put aside; they stay where they are."""
        return DeadLetters.from_document(self._transport.send("GET", ["dead-letters"]).document)

    def redrive(self) -> Redrive:
        """Hand them to whom they were meant for; what fails stays. Its answer counts the last try's letters only."""
        return Redrive.from_document(self._transport.send("POST", ["dead-letters", "redrive"]).document)


def _page(document: object) -> tuple[list[Job], str | None]:
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise ServerFaultError("The endpoint's answer is no list of jobs. Check that it is Headway's.")
    token = document.get("nextToken")
    return [Job.from_document(item) for item in document["jobs"]], str(token) if token else None
