"""Who may call the local server of the board."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from headway_client.board.web.access import SECRET_HEADER, Gate, Refused

OWN = {"Host": "127.0.0.1:8000"}
PAGE = {**OWN, "Origin": "http://127.0.0.1:8000"}


def token_of(gate: Gate) -> str:
    return gate.url.partition("#token=")[2]


def opened(*, allow_changes: bool = True) -> tuple[Gate, dict[str, str]]:
    """A gate, and the headers of a page that was opened by its link."""
    gate = Gate(8000, allow_changes=allow_changes)
    return gate, {**PAGE, SECRET_HEADER: gate.exchange(PAGE, token_of(gate))}


def test_the_token_is_in_the_fragment_which_no_server_gets() -> None:
    gate = Gate(8000, allow_changes=False)
    assert gate.url.startswith("http://127.0.0.1:8000/#token=")
    assert len(token_of(gate)) >= 43


def test_a_token_works_once_and_a_wrong_one_uses_up_nothing() -> None:
    exchanged: list[bool] = []
    gate = Gate(8000, allow_changes=False, on_exchange=lambda: exchanged.append(True))
    token = token_of(gate)
    for wrong in ("", "x", token + "x", token[:-1], "\ud800", token[:-1] + "\u0661"):
        with pytest.raises(Refused):
            gate.exchange(PAGE, wrong)
    assert exchanged == []
    assert gate.exchange(PAGE, token) not in gate.url
    assert exchanged == [True]
    with pytest.raises(Refused, match="used already"):
        gate.exchange(PAGE, token)
    assert exchanged == [True]


def test_two_boards_have_other_tokens_and_secrets() -> None:
    (first, headers), (second, others) = opened(), opened()
    assert first.url != second.url
    assert headers[SECRET_HEADER] != others[SECRET_HEADER]
    assert not _allows(first.require_reader, others)


@pytest.mark.parametrize(
    "wrong",
    [
        {"Host": "evil.example:8000"},
        {"Origin": None},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8001"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_link_is_exchanged_for_the_boards_own_page_only(wrong: Mapping[str, str | None]) -> None:
    gate = Gate(8000, allow_changes=True)
    asked = {name: value for name, value in {**PAGE, **wrong}.items() if value is not None}
    with pytest.raises(Refused):
        gate.exchange(asked, token_of(gate))
    assert gate.exchange(PAGE, token_of(gate))


CHANGED: list[tuple[str, Mapping[str, str | None], bool, bool]] = [
    ("its own page", {}, True, True),
    ("another host", {"Host": "evil.example:8000"}, False, False),
    ("another port", {"Host": "127.0.0.1:8001"}, False, False),
    ("a name of this machine", {"Host": "localhost:8000"}, False, False),
    ("no host", {"Host": None}, False, False),
    ("two hosts", {"Host": "127.0.0.1:8000, evil.example"}, False, False),
    ("another origin", {"Origin": "http://evil.example"}, False, False),
    ("the same host on another port", {"Origin": "http://127.0.0.1:8001"}, False, False),
    ("the null origin", {"Origin": "null"}, False, False),
    ("no origin", {"Origin": None}, True, False),
    ("another site", {"Sec-Fetch-Site": "cross-site"}, False, False),
    ("the same site", {"Sec-Fetch-Site": "same-site"}, False, False),
    ("the same origin", {"Sec-Fetch-Site": "same-origin"}, True, True),
    ("no secret", {SECRET_HEADER: None}, False, False),
    ("an empty secret", {SECRET_HEADER: ""}, False, False),
    ("a wrong secret", {SECRET_HEADER: "x"}, False, False),
    ("a secret that is no ASCII", {SECRET_HEADER: "\xff"}, False, False),
]


@pytest.mark.parametrize(("changed", "reads", "changes"), [row[1:] for row in CHANGED], ids=[row[0] for row in CHANGED])
def test_only_its_own_page_may_read_and_change(changed: Mapping[str, str | None], reads: bool, changes: bool) -> None:
    gate, headers = opened()
    asked = {name: value for name, value in {**headers, **changed}.items() if value is not None}
    assert _allows(gate.require_reader, asked) is reads
    assert _allows(gate.require_changer, asked) is changes


def test_a_read_only_board_changes_nothing() -> None:
    gate, headers = opened(allow_changes=False)
    gate.require_reader(headers)
    with pytest.raises(Refused, match="read-only"):
        gate.require_changer(headers)


def test_a_secret_is_no_cookie_and_the_token_is_no_secret() -> None:
    gate, headers = opened()
    secret = headers.pop(SECRET_HEADER)
    for name in (SECRET_HEADER, "headway-board-8000"):
        assert not _allows(gate.require_reader, {**headers, "Cookie": f"{name}={secret}"})
    fresh = Gate(8000, allow_changes=True)
    assert not _allows(fresh.require_reader, {**PAGE, SECRET_HEADER: token_of(fresh)})


def test_anything_but_the_host_matters_not_for_what_is_the_same_for_everybody() -> None:
    gate = Gate(8000, allow_changes=False)
    assert _allows(gate.require_own_host, {**OWN, "Sec-Fetch-Site": "cross-site"})
    assert not _allows(gate.require_own_host, {"Host": "evil.example:8000"})


def _allows(check: object, headers: Mapping[str, str]) -> bool:
    assert callable(check)
    try:
        check(headers)
    except Refused:
        return False
    return True
