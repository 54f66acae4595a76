"""The fuzz of decoders finds what crashes and what hangs, and plays it again; and a share of it finds nothing."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway_verification.decoders import cut
from headway_verification.decoders.decoder import Decoder, Refused
from headway_verification.decoders.inputs.documents import json_texts
from headway_verification.decoders.inputs.values import Members, Raw, written
from headway_verification.decoders.queue import Broken, Queue
from headway_verification.decoders.report import failures, has_failed, summary
from headway_verification.decoders.run import MAX_HANGS, fuzz, replay
from headway_verification.decoders.table import DECODERS

SEED = 1 if "CI" in os.environ else secrets.randbelow(2**32)

SHARE = 0.1
"""The part of a batch of each decoder that the quick tests draw."""


def decoder(decode, inputs=None, **changes) -> Decoder:
    chosen = st.binary(max_size=20) if inputs is None else inputs
    given = {"name": "test", "inputs": chosen, "refusals": (Refused,), **changes}
    return Decoder(decode=decode, **given)


def refuse_all(content: bytes) -> None:
    raise Refused("no")


def crash_on_x(content: bytes) -> None:
    if b"x" in content:
        raise KeyError(content)


def loop_on_x(content: bytes) -> None:
    while b"x" in content:
        pass


def wait_on_x(content: bytes) -> None:
    if b"x" in content:
        time.sleep(600)


def die_on_x(content: bytes) -> None:
    if b"x" in content:
        os.abort()


def hoard_on_x(content: bytes) -> None:
    if b"x" in content:
        bytearray(2**33)


some_x = st.text("axyz", max_size=30).map(str.encode)


def test_inputs_are_counted_as_refused_or_accepted():
    (found,) = fuzz([decoder(refuse_all, batch=20)], seed=1)
    assert (found.inputs, found.refused, found.accepted) == (20, 20, 0)
    (found,) = fuzz([decoder(lambda content: None, batch=20)], seed=1)
    assert (found.inputs, found.refused, found.accepted) == (20, 0, 20)
    assert not has_failed([found])


def test_a_crash_is_found_cut_down_and_found_once():
    (found,) = fuzz([decoder(crash_on_x, some_x)], seed=1)
    ((place, crash),) = found.crashes.items()
    assert (place, crash.content) == ("KeyError at test_fuzz.py:crash_on_x", b"x")
    (found,) = fuzz([decoder(crash_on_x, some_x)], seed=1, seconds=0.5)
    assert len(found.crashes) == 1


def test_the_same_seed_draws_the_same_inputs():
    def told(seed: int) -> str:
        return summary(fuzz([decoder(crash_on_x, some_x)], seed=seed, seconds=0.0))

    assert told(1) == told(1)


@pytest.mark.parametrize(("decode", "limit_s"), [(loop_on_x, 0.2), (wait_on_x, 0.05)])
def test_a_call_that_does_not_return_hangs(monkeypatch: pytest.MonkeyPatch, decode, limit_s: float):
    monkeypatch.setattr(cut, "MAX_TRIES", 3)
    (found,) = fuzz([decoder(decode, some_x, cpu_limit_s=limit_s)], seed=1)
    assert len(found.hangs) == 1
    assert b"x" in found.hangs[0]
    assert has_failed([found])


def test_a_decoder_that_always_hangs_is_not_fed_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cut, "MAX_TRIES", 0)
    (found,) = fuzz([decoder(loop_on_x, st.just(b"x"), cpu_limit_s=0.05)], seed=1, seconds=4.0)
    assert len(found.hangs) == MAX_HANGS


@pytest.mark.parametrize(
    ("decode", "place"), [(die_on_x, "SIGABRT of the process"), (hoard_on_x, "MemoryError at test_fuzz.py:hoard_on_x")]
)
def test_the_end_of_the_process_and_a_want_of_memory_are_crashes(decode, place: str):
    (found,) = fuzz([decoder(decode, some_x)], seed=1)
    assert list(found.crashes) == [place]
    assert b"x" in found.crashes[place].content


def test_a_failure_of_the_fuzz_itself_is_none_of_the_decoder():
    broken = st.integers().map(lambda number: str(number // 0).encode())
    with pytest.raises(RuntimeError, match="outside of its decoder"):
        fuzz([decoder(crash_on_x, broken)], seed=1)


def test_a_failing_input_is_saved_told_and_played_again(tmp_path: Path):
    crashing = decoder(crash_on_x, some_x)
    found = fuzz([crashing], seed=1)
    (text,) = failures(found, tmp_path)
    (saved,) = tmp_path.iterdir()
    assert f"--replay {saved}" in text
    assert "KeyError" in text
    assert replay(crashing, saved.read_bytes()).crashes.keys() == found[0].crashes.keys()
    assert not has_failed([replay(crashing, b"a")])


def test_an_input_is_cut_down_to_what_still_hangs():
    tried: list[bytes] = []

    def still_hangs(content: bytes) -> bool:
        tried.append(content)
        return b"x" in content

    assert cut.cut_down(b"aaaaxbbb", still_hangs) == b"xb"
    assert len(tried) == cut.MAX_TRIES, "each takes as long as a hang does"


def test_documents_may_have_what_json_has_not():
    document = {"a": Raw("NaN"), "b": Members([("c", 1), ("c", 2)])}
    assert written(document) == '{"a":NaN,"b":{"c":1,"c":2}}'


def test_some_changed_documents_are_still_valid_and_some_are_none():
    valid, invalid = 0, 0

    def decode(content: bytes) -> None:
        nonlocal valid, invalid
        try:
            json.loads(content)
            valid += 1
        except (ValueError, RecursionError):
            invalid += 1

    from hypothesis import given, settings

    settings(max_examples=400, database=None)(given(json_texts([{"a": [1, {"b": "c"}]}]))(decode))()
    assert valid > 10
    assert invalid > 10


def test_a_queue_that_does_not_start_the_jobs_of_others_is_broken():
    queue = Queue()
    queue.serve_others()
    queue.ask("POST", "/pools/ml.g5.xlarge/pause", '{"reason": "x"}')
    with pytest.raises(Broken, match="does not start"):
        queue.serve_others()


def test_a_tick_that_fails_or_leaves_a_record_alone_is_found():
    queue = Queue()
    queue.tick_failed(HeadwayError("left alone"))
    with pytest.raises(HeadwayError, match="left alone"):
        queue.tick()


def test_an_answer_without_a_typed_refusal_is_broken(monkeypatch: pytest.MonkeyPatch):
    queue = Queue()
    with pytest.raises(Refused, match="JobNotFound"):
        queue.ask("GET", "/jobs/none")
    monkeypatch.setattr(queue, "invoke", lambda *_: {"statusCode": 500, "body": '{"error": {"code": "InternalError"}}'})
    with pytest.raises(Broken):
        queue.ask("GET", "/jobs")


def test_decoders_have_different_names():
    assert len({each.name for each in DECODERS}) == len(DECODERS)


def test_no_decoder_crashes_or_hangs(tmp_path: Path):
    # In a process of its own, as its batches are forked: those of the tests may have threads.
    run = subprocess.run(
        [sys.executable, "-m", "headway_verification.decoders", "--share", str(SHARE), "--seed", str(SEED),
         "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, f"make fuzz SEED={SEED} plays it again\n{run.stdout[-6000:]}\n{run.stderr[-3000:]}"
    lines = {line[: line.rindex("  ")] for line in run.stdout.splitlines() if "  " in line}
    assert len(lines) >= len(DECODERS)
