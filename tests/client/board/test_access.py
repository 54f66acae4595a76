"""Who may call the local server of the board."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from headway_client.board.web.access import CHANGE_HEADER, CHANGE_VALUE, Gate, Refused

OWN = {"Host": "127.0.0.1:8000"}


def opened(*, allow_changes: bool = True) -> tuple[Gate, dict[str, str]]:
    """A gate, and the headers of a page that was opened by its link."""
    gate = Gate(8000, allow_changes=allow_changes)
    cookie = gate.exchange(OWN, gate.url.partition("token=")[2])
    headers = {**OWN, "Cookie": cookie.partition(";")[0]}
    return gate, {**headers, "Origin": "http://127.0.0.1:8000", CHANGE_HEADER: CHANGE_VALUE}


def test_the_cookie_is_strict_and_no_script_reads_it() -> None:
    gate = Gate(8000, allow_changes=False)
    name, *attributes = gate.exchange(OWN, gate.url.partition("token=")[2]).split("; ")
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert gate.url.partition("token=")[2] not in name


def test_a_token_works_once_and_a_wrong_one_uses_up_nothing() -> None:
    gate = Gate(8000, allow_changes=False)
    token = gate.url.partition("token=")[2]
    for wrong in ("", "x", token + "x"):
        with pytest.raises(Refused):
            gate.exchange(OWN, wrong)
    assert gate.exchange(OWN, token)
    with pytest.raises(Refused, match="used already"):
        gate.exchange(OWN, token)


def test_two_boards_have_other_tokens_and_names_of_cookies() -> None:
    assert Gate(8000, allow_changes=False).url != Gate(8000, allow_changes=False).url
    names = []
    for port in (8000, 8001):
        gate = Gate(port, allow_changes=False)
        cookie = gate.exchange({"Host": f"127.0.0.1:{port}"}, gate.url.partition("token=")[2])
        names.append(cookie.partition("=")[0])
    assert len(set(names)) == 2


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
    ("no cookie", {"Cookie": None}, False, False),
    ("a wrong cookie", {"Cookie": "headway-board-8000=x"}, False, False),
    ("a cookie of another board", {"Cookie": "headway-board-8001=x"}, False, False),
    ("a malformed cookie", {"Cookie": "\x00=;;=,"}, False, False),
    ("no header of changes", {CHANGE_HEADER: None}, True, False),
    ("a wrong header of changes", {CHANGE_HEADER: "x"}, True, False),
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


def test_the_token_of_the_link_is_no_cookie() -> None:
    gate = Gate(8000, allow_changes=True)
    token = gate.url.partition("token=")[2]
    assert not _allows(gate.require_reader, {**OWN, "Cookie": f"headway-board-8000={token}"})


def test_a_link_is_not_exchanged_under_another_name_of_the_host() -> None:
    gate = Gate(8000, allow_changes=True)
    with pytest.raises(Refused):
        gate.exchange({"Host": "evil.example:8000"}, gate.url.partition("token=")[2])


def _allows(check: object, headers: Mapping[str, str]) -> bool:
    assert callable(check)
    try:
        check(headers)
    except Refused:
        return False
    return True
