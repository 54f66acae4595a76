"""What SageMaker answers, and what may have answered in its place, as typed errors. Over HTTP, through botocore."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.errors import (
    LacksPermission,
    LaunchPostponed,
    LaunchRefused,
    ListingExpired,
    NameTaken,
    NothingToStop,
    OutcomeUnknown,
    Throttled,
    TrainingJobEnded,
    TrainingJobNotFound,
)
from tests.service.raw_http import BODIES, STATUSES, STRANGE, RawServer
from tests.service.world import request

ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/a"
DESCRIBED = {
    "TrainingJobName": "a",
    "TrainingJobArn": ARN,
    "TrainingJobStatus": "InProgress",
    "SecondaryStatus": "Training",
    "CreationTime": 1_800_000_000.0,
}
LISTED = {"TrainingJobName": "a", "TrainingJobStatus": "InProgress", "CreationTime": 1_800_000_000.0}

CALLS: dict[str, Callable[[SageMakerTrainingJobs], Any]] = {
    "create": lambda jobs: jobs.create(request("a")),
    "stop": lambda jobs: jobs.stop("a"),
    "release_warm_pool": lambda jobs: jobs.release_warm_pool("a"),
    "describe": lambda jobs: jobs.describe("a"),
    "described": lambda jobs: jobs.described("a"),
    "tags_of": lambda jobs: jobs.tags_of(ARN),
    "live": lambda jobs: jobs.live(0, None),
    "live, further": lambda jobs: jobs.live(0, "token"),
}
LAUNCH: Callable[[SageMakerTrainingJobs], Any] = CALLS["create"]


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer().running() as server:
        yield server


@pytest.fixture(scope="module")
def jobs(server: RawServer) -> SageMakerTrainingJobs:
    return SageMakerTrainingJobs(server.client("sagemaker"))


def refuse(server: RawServer, code: str, message: str = "no", status: int = 400) -> None:
    server.answer(status, json.dumps({"__type": code, "message": message}).encode())


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("body", [*BODIES.values(), *STRANGE.values()], ids=[*BODIES, *STRANGE])
@pytest.mark.parametrize("status", STATUSES)
def test_an_answer_that_sagemaker_did_not_write_is_unclear(
    server: RawServer, jobs: SageMakerTrainingJobs, call: Callable[..., Any], body: bytes, status: int
) -> None:
    server.answer(status, body)
    with pytest.raises(OutcomeUnknown) as raised:
        call(jobs)
    assert type(raised.value) is OutcomeUnknown


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    "body", [body for name, body in (BODIES | STRANGE).items() if name in {"empty", "HTML", "truncated", "a list"}]
)
def test_a_success_that_sagemaker_did_not_write_is_unclear(
    server: RawServer, jobs: SageMakerTrainingJobs, call: Callable[..., Any], body: bytes
) -> None:
    server.answer(200, body)
    with pytest.raises(OutcomeUnknown):
        call(jobs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_truncated_answer_is_unclear(
    server: RawServer, jobs: SageMakerTrainingJobs, call: Callable[..., Any]
) -> None:
    server.answer(200, b'{"TrainingJobArn":', promised=400)
    with pytest.raises(OutcomeUnknown):
        call(jobs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("code", ["ThrottlingException", "ThrottledException", "TooManyRequestsException"])
def test_a_throttled_call_had_no_effect(
    server: RawServer, jobs: SageMakerTrainingJobs, call: Callable[..., Any], code: str
) -> None:
    refuse(server, code)
    with pytest.raises(Throttled):
        call(jobs)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_429_without_a_sagemaker_error_is_throttled(
    server: RawServer, jobs: SageMakerTrainingJobs, body: bytes
) -> None:
    server.answer(429, body)
    with pytest.raises(Throttled):
        LAUNCH(jobs)


# ------------------------------------------------------------------------------------------------------------- create


@pytest.mark.parametrize(
    ("code", "message", "status", "error"),
    [
        ("ResourceInUse", "Training job names must be unique", 400, NameTaken),
        ("ResourceLimitExceeded", "The account-level service limit", 400, LaunchPostponed),
        ("AccessDeniedException", "is not authorized to perform: sagemaker:CreateTrainingJob", 400, LaunchPostponed),
        ("AccessDenied", "is not authorized to perform: sagemaker:CreateTrainingJob", 403, LaunchPostponed),
        ("AccessDeniedException", "is not authorized to perform: iam:PassRole on resource", 400, LaunchRefused),
        ("AccessDeniedException", "is not authorized to perform: iam:PassRole on resource", 403, LaunchRefused),
        ("AccessDeniedException", "is not authorized to perform: iam:PassRole on resource", 503, OutcomeUnknown),
        ("OptInRequired", "not subscribed", 403, LaunchPostponed),
        ("UnrecognizedClientException", "The security token included in the request is invalid", 400, LaunchPostponed),
        ("InvalidSignatureException", "Signature expired", 400, LaunchPostponed),
        ("ExpiredTokenException", "expired", 400, LaunchPostponed),
        ("ExpiredToken", "expired", 403, LaunchPostponed),
        ("RequestExpired", "expired", 400, LaunchPostponed),
        ("RequestTimeout", "slow", 400, OutcomeUnknown),
        ("InternalFailure", "oops", 500, OutcomeUnknown),
        ("ValidationException", "1 validation error detected", 400, LaunchRefused),
        ("ResourceNotFound", "no such image", 400, LaunchRefused),
        ("SomethingNew", "never heard of it", 400, OutcomeUnknown),
        ("ResourceInUse", "oops", 500, OutcomeUnknown),
        ("ResourceLimitExceeded", "oops", 503, OutcomeUnknown),
    ],
)
def test_a_launch_has_sagemakers_outcome(
    server: RawServer, jobs: SageMakerTrainingJobs, code: str, message: str, status: int, error: type[Exception]
) -> None:
    refuse(server, code, message, status)
    with pytest.raises(error) as raised:
        LAUNCH(jobs)
    assert type(raised.value) is error


def test_a_launch_without_credentials_is_postponed(
    server: RawServer, jobs: SageMakerTrainingJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsigned(**_: Any) -> None:
        raise NoCredentialsError

    monkeypatch.setattr(jobs._client, "create_training_job", unsigned)
    with pytest.raises(LaunchPostponed, match="NoCredentialsError"):
        LAUNCH(jobs)


def test_a_launch_is_confirmed_by_the_arn_in_the_answer(server: RawServer, jobs: SageMakerTrainingJobs) -> None:
    server.answer(200, json.dumps({"TrainingJobArn": ARN}).encode())
    LAUNCH(jobs)
    server.answer(200, b"{}")
    with pytest.raises(OutcomeUnknown):
        LAUNCH(jobs)


def test_an_unclear_answers_quotation_of_the_request_is_not_repeated(
    server: RawServer, jobs: SageMakerTrainingJobs
) -> None:
    refuse(server, "SomethingNew", "is a secret")
    with pytest.raises(OutcomeUnknown) as raised:
        LAUNCH(jobs)
    assert "secret" not in str(raised.value)


# --------------------------------------------------------------------------------------------------- stop and describe


@pytest.mark.parametrize(
    "text",
    [
        "The request was rejected because the training job is in status Completed.",
        "The request was rejected because the training job is in status Failed",
        "the request was rejected because the Training Job is in status: STOPPED!",
        "The request was rejected because the training job is in status Stopping.",
    ],
)
def test_a_stop_is_too_late_if_sagemaker_names_an_ended_status(
    server: RawServer, jobs: SageMakerTrainingJobs, text: str
) -> None:
    refuse(server, "ValidationException", text)
    with pytest.raises(TrainingJobEnded):
        jobs.stop("a")
    with pytest.raises(OutcomeUnknown):
        jobs.describe("a")


NOT_FOUND = [
    "Requested resource not found.",
    "requested resource NOT FOUND",
    "Could not find job to update with name a",
]


@pytest.mark.parametrize(
    ("code", "text"), [*(("ValidationException", text) for text in NOT_FOUND), ("ResourceNotFound", "gone")]
)
def test_a_training_job_that_sagemaker_does_not_find_is_none_and_cannot_be_stopped(
    server: RawServer, jobs: SageMakerTrainingJobs, code: str, text: str
) -> None:
    refuse(server, code, text)
    assert jobs.describe("a") is None
    assert jobs.described("a") is None
    with pytest.raises(TrainingJobNotFound):
        jobs.stop("a")


@pytest.mark.parametrize("call", [CALLS["stop"], CALLS["describe"], CALLS["described"]])
@pytest.mark.parametrize(
    ("code", "text", "status"),
    [
        ("ValidationException", "1 validation error detected: Value 'a' at 'trainingJobName' failed", 400),
        ("ValidationException", "The request was rejected because the training job is in status InProgress.", 400),
        ("ValidationException", "The request was rejected because the training job is in status Stop", 400),
        ("ValidationException", "", 400),
        ("ValidationException", "Requested resource not found.", 500),
        ("ResourceNotFound", "Requested resource not found.", 503),
        ("SomethingNew", "Requested resource not found.", 400),
        ("SomethingNew", "the training job is in status Stopped", 400),
        ("ExpiredTokenException", "expired", 400),
    ],
)
def test_other_refusals_do_not_imply_a_training_job(
    server: RawServer, jobs: SageMakerTrainingJobs, call: Callable[..., Any], code: str, text: str, status: int
) -> None:
    refuse(server, code, text, status)
    with pytest.raises(OutcomeUnknown):
        call(jobs)


def test_a_forbidden_stop_is_distinguished(server: RawServer, jobs: SageMakerTrainingJobs) -> None:
    refuse(server, "AccessDeniedException", "is not authorized to perform: sagemaker:StopTrainingJob")
    with pytest.raises(LacksPermission):
        jobs.stop("a")


@pytest.mark.parametrize("code", ["ValidationException", "ResourceNotFound", "ResourceLimitExceeded"])
def test_a_refused_release_of_a_warm_pool_is_distinguished(
    server: RawServer, jobs: SageMakerTrainingJobs, code: str
) -> None:
    refuse(server, code)
    with pytest.raises(NothingToStop):
        jobs.release_warm_pool("a")


def test_a_forbidden_release_of_a_warm_pool_is_distinguished(server: RawServer, jobs: SageMakerTrainingJobs) -> None:
    refuse(server, "AccessDeniedException", "is not authorized to perform: sagemaker:UpdateTrainingJob")
    with pytest.raises(LacksPermission):
        jobs.release_warm_pool("a")


def test_a_stop_is_confirmed_by_sagemakers_answer(server: RawServer, jobs: SageMakerTrainingJobs) -> None:
    server.answer(200, b"", x_amzn_RequestId="one")
    jobs.stop("a")


@pytest.mark.parametrize("member", ["TrainingJobName", "TrainingJobArn", "TrainingJobStatus", "CreationTime"])
def test_a_description_without_required_members_is_unclear(
    server: RawServer, jobs: SageMakerTrainingJobs, member: str
) -> None:
    server.answer(200, json.dumps(DESCRIBED).encode())
    assert jobs.describe("a") is not None
    server.answer(200, json.dumps({name: value for name, value in DESCRIBED.items() if name != member}).encode())
    with pytest.raises(OutcomeUnknown):
        jobs.describe("a")
    with pytest.raises(OutcomeUnknown):
        jobs.described("a")


# --------------------------------------------------------------------------------------------------- lists and tags


@pytest.mark.parametrize("member", ["TrainingJobName", "TrainingJobStatus", "CreationTime"])
def test_a_listing_without_required_members_is_unclear(
    server: RawServer, jobs: SageMakerTrainingJobs, member: str
) -> None:
    server.answer(200, json.dumps({"TrainingJobSummaries": [LISTED]}).encode())
    assert [each.name for each in jobs.live(0, None).jobs] == ["a"]
    less = {name: value for name, value in LISTED.items() if name != member}
    for document in ({"TrainingJobSummaries": [less]}, {}):
        server.answer(200, json.dumps(document).encode())
        with pytest.raises(OutcomeUnknown):
            jobs.live(0, None)


def test_a_listing_with_a_refused_token_has_expired(server: RawServer, jobs: SageMakerTrainingJobs) -> None:
    refuse(server, "ValidationException", "The token is expired")
    with pytest.raises(ListingExpired):
        jobs.live(0, "token")
    with pytest.raises(OutcomeUnknown):
        jobs.live(0, None)
    refuse(server, "ExpiredTokenException", "The security token included in the request is expired")
    with pytest.raises(OutcomeUnknown):
        jobs.live(0, "token")


def test_a_missing_tags_member_means_no_tags(server: RawServer, jobs: SageMakerTrainingJobs) -> None:
    server.answer(200, json.dumps({"Tags": [{"Key": "k", "Value": "v"}]}).encode())
    assert jobs.tags_of(ARN) == {"k": "v"}
    server.answer(200, b"{}")
    assert jobs.tags_of(ARN) == {}


def test_launches_in_parallel_make_one_client(server: RawServer) -> None:
    made, second = [], Barrier(2, timeout=0.1)

    def creator() -> Any:
        made.append(server.client("sagemaker"))
        with suppress(BrokenBarrierError):
            # Another thread gets here only if nothing keeps it out.
            second.wait()
        return made[-1]

    jobs = SageMakerTrainingJobs(server.client("sagemaker"), creator)
    server.answer(200, json.dumps({"TrainingJobArn": ARN}).encode())
    with ThreadPoolExecutor(2) as threads:
        for outcome in [threads.submit(LAUNCH, jobs) for _ in range(2)]:
            outcome.result()
    assert len(made) == 1
