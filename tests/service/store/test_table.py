"""One contract for every implementation of the table."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headway_sandbox.local.sandbox import Sandbox
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.errors import Conflict
from headway_service.ports.table import (
    Absent,
    AllEqual,
    AllOf,
    AtLeast,
    Check,
    Condition,
    Contains,
    Delete,
    Equals,
    Key,
    OneOf,
    Put,
    Table,
    Tally,
    Update,
    Write,
    position_of,
)
from headway_service.testing.memory_table import MemoryTable
from tests.service.schema import SCHEMA


@pytest.fixture(scope="module")
def moto_client() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("dynamodb", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")


@pytest.fixture(scope="module")
def sandbox_client() -> Iterator[Any]:
    with Sandbox(deploy=False) as sandbox:
        yield sandbox.client("dynamodb")


@pytest.fixture(params=["memory", "moto", pytest.param("sandbox", marks=pytest.mark.e2e)])
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    if request.param == "memory":
        yield MemoryTable()
        return
    client = request.getfixturevalue(f"{request.param}_client")
    client.create_table(TableName="queue", **SCHEMA)
    yield DynamoDBTable(client, "queue")
    client.delete_table(TableName="queue")


def put(pk: str, sk: str, requires: Condition | None = None, **attributes: Any) -> Put:
    return Put(item={"pk": pk, "sk": sk, **attributes}, requires=requires)


def test_a_put_item_is_read_with_all_its_values(table: Table) -> None:
    item: dict[str, Any] = {
        "text": "ä\x1b",
        "number": 12345678901234,
        "flag": True,
        "list": [{"a": 1}],
        "map": {"b": "c"},
        "empty": {},
    }
    table.write([put("a", "b", **item)])
    assert table.get(Key("a", "b")) == {"pk": "a", "sk": "b", **item}


def test_a_missing_item_is_none(table: Table) -> None:
    assert table.get(Key("a", "b")) is None
    assert table.query("a", limit=10) == ()


def test_a_read_item_is_not_shared(table: Table) -> None:
    table.write([put("a", "b", map={"c": 1})])
    item = table.get(Key("a", "b"))
    assert item is not None
    item["map"]["c"] = 2
    assert table.get(Key("a", "b")) == {"pk": "a", "sk": "b", "map": {"c": 1}}


def test_a_query_returns_a_partition_in_the_order_of_its_sort_keys(table: Table) -> None:
    for sk in ("b#2", "a#1", "b#1", "c#1", "b#3"):
        table.write([put("p", sk)])
    table.write([put("other", "b#0")])

    def keys(**options: Any) -> list[str]:
        return [item["sk"] for item in table.query("p", **{"limit": 10, **options})]

    assert keys() == ["a#1", "b#1", "b#2", "b#3", "c#1"]
    assert keys(limit=2) == ["a#1", "b#1"]
    assert keys(after="b#1") == ["b#2", "b#3", "c#1"]
    assert keys(after="b#15") == ["b#2", "b#3", "c#1"]
    assert keys(prefix="b#") == ["b#1", "b#2", "b#3"]
    assert keys(prefix="b#", after="b#1", limit=1) == ["b#2"]
    shown = [table.query_for_display("p", prefix="b#", limit=limit) for limit in (10, 2)]
    assert [[item["sk"] for item in items] for items in shown] == [["b#1", "b#2", "b#3"], ["b#1", "b#2"]]


def test_counting_stops_at_the_limit(table: Table) -> None:
    for i in range(7):
        table.write([put("p", f"{i}")])
    assert table.count_before("p", "3", limit=10) == 3
    assert table.count_before("p", "3x", limit=10) == 4
    assert table.count_before("p", "9", limit=5) == 5
    assert table.count_before("q", "9", limit=5) == 0


def test_the_smaller_keys_are_returned_up_to_the_limit(table: Table) -> None:
    for i in (3, 0, 2, 1):
        table.write([put("p", f"{i}", text="x")])
    assert table.keys_before("p", "3", limit=10) == ("0", "1", "2")
    assert table.keys_before("p", "3x", limit=2) == ("0", "1")
    assert table.keys_before("p", "0", limit=10) == ()
    assert table.keys_before("q", "9", limit=10) == ()


def test_a_tally_counts_all_and_matching_items_of_a_partition(table: Table) -> None:
    for i in range(6):
        table.write([put("p", f"{i}", ownedBy="ada" if i % 3 == 0 else "bob")])
    table.write([put("p", "6")])
    ada = Equals("ownedBy", "ada")
    assert table.tally("p", ada, limit=10) == Tally(items=7, matching=2)
    assert table.tally("p", ada, limit=3) == Tally(items=3, matching=1)
    assert table.tally("p", ada, before="4", limit=10) == Tally(items=4, matching=2)
    assert table.tally("p", ada, before="4", limit=2) == Tally(items=2, matching=1)
    assert table.tally("p", ada, before="0", limit=2) == Tally(items=0, matching=0)
    assert table.tally("q", ada, limit=3) == Tally(items=0, matching=0)


def test_the_tail_of_a_partition_is_returned_in_order_with_an_attribute_of_each_item(table: Table) -> None:
    for i in (2, 0, 1):
        table.write([put("p", f"{i}", ownedBy=f"of {i}")])
    table.write([put("p", "3")])
    assert table.tail("p", "ownedBy", limit=3) == (("1", "of 1"), ("2", "of 2"), ("3", ""))
    assert table.tail("p", "ownedBy", limit=9) == (("0", "of 0"), ("1", "of 1"), ("2", "of 2"), ("3", ""))
    assert table.tail("q", "ownedBy", limit=9) == ()


CONDITIONS: list[tuple[str, Condition, bool, bool]] = [
    ("absent", Absent(), False, True),
    ("an equal text", Equals("state", "on"), True, False),
    ("another text", Equals("state", "off"), False, False),
    ("an equal number", Equals("free", 2), True, False),
    ("a missing attribute", Equals("nothing", 2), False, False),
    ("two equal attributes", AllEqual((("state", "on"), ("free", 2))), True, False),
    ("an equal map", AllEqual((("state", "on"), ("demand", {"b": 2, "a": 1}))), True, False),
    ("a map with another number", AllEqual((("state", "on"), ("demand", {"a": 1, "b": 3}))), False, False),
    ("a map with fewer members", AllEqual((("state", "on"), ("demand", {"a": 1}))), False, False),
    ("one of two is another", AllEqual((("state", "on"), ("free", 1))), False, False),
    ("one of two is missing", AllEqual((("state", "on"), ("nothing", 2))), False, False),
    ("at least what is there", AtLeast("free", 2), True, False),
    ("at least more", AtLeast("free", 3), False, False),
    ("at least a negative number", AtLeast("free", -1), True, False),
    ("at least of a missing attribute", AtLeast("nothing", -1), False, False),
    ("all of two", AllOf((AtLeast("free", 2), Equals("state", "on"))), True, False),
    ("one of two does not hold", AllOf((AtLeast("free", 3), Equals("state", "on"))), False, False),
    ("the other one does not hold", AllOf((AtLeast("free", 2), Equals("state", "off"))), False, False),
    ("two of one attribute", AllOf((AtLeast("free", 1), Equals("free", 2))), True, False),
    ("a part of a text", Contains("state", "o"), True, False),
    ("a part in another case", Contains("state", "O"), False, False),
    ("a part of a missing attribute", Contains("nothing", "o"), False, False),
    ("one of several", OneOf("state", ("off", "on")), True, False),
    ("none of several", OneOf("state", ("off", "out")), False, False),
]


def writes_with(condition: Condition) -> list[Write]:
    key = Key("a", "b")
    return [
        put("a", "b", condition, written=1),
        Update(key=key, sets={"written": 1}, requires=condition),
        Delete(key=key, requires=condition),
        Check(key=key, requires=condition),
    ]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a transaction"])
@pytest.mark.parametrize("exists", [True, False], ids=["item exists", "item does not exist"])
@pytest.mark.parametrize(
    ("condition", "with_item", "without"), [row[1:] for row in CONDITIONS], ids=[row[0] for row in CONDITIONS]
)
def test_a_write_happens_only_if_its_condition_holds(
    table: Table, condition: Condition, with_item: bool, without: bool, exists: bool, alone: bool
) -> None:
    for i, write in enumerate(writes_with(condition)):
        table.write([Delete(key=Key("a", "b"))])
        if exists:
            table.write([put("a", "b", state="on", free=2, demand={"a": 1, "b": 2})])
        before = table.get(Key("a", "b"))
        writes = [write] if alone else [put("x", str(i)), write]
        if with_item if exists else without:
            table.write(writes)
        else:
            with pytest.raises(Conflict) as raised:
                table.write(writes)
            assert raised.value.failed == (len(writes) - 1,)
            assert table.get(Key("a", "b")) == before
            assert table.get(Key("x", str(i))) is None, "nothing of a refused transaction may be written"


def test_a_change_sets_adds_and_creates(table: Table) -> None:
    key = Key("a", "b")
    table.write([Update(key=key, sets={"size": 3, "name": "x"}, adds={"free": 2})])
    table.write([Update(key=key, sets={"size": 4}, adds={"free": -5})])
    assert table.get(key) == {"pk": "a", "sk": "b", "size": 4, "name": "x", "free": -3}


def test_a_conflict_names_every_write_that_failed(table: Table) -> None:
    table.write([put("a", "1"), put("a", "2")])
    with pytest.raises(Conflict) as raised:
        table.write([put("a", "1", Absent()), put("a", "3", Absent()), put("a", "2", Absent())])
    assert raised.value.failed == (0, 2)


def test_deleting_a_missing_item_is_no_error(table: Table) -> None:
    table.write([Delete(key=Key("a", "b"))])


@pytest.mark.parametrize(
    "value",
    [
        "x",
        '"',
        "\x01",
        "ä",
        chr(0x10FFFF),
        "\x01" * 99,
        True,
        False,
        None,
        1,
        10**18,
        0.1 + 0.2,
        {},
        [True, None],
        {"a": ["x"]},
    ],
    ids=repr,
)
def test_an_item_in_memory_is_refused_above_the_maximum_size_of_its_json(value: Any) -> None:
    own, most = len(json.dumps({"pk": "a", "sk": "a", "list": []}, separators=(", ", ": "))), 400 * 1024
    each = len(json.dumps(value, ensure_ascii=False).encode()) + len(", ")
    fits = (most - own + len(", ")) // each
    table = MemoryTable()
    table.write([put("a", "a", list=[value] * fits)])
    for write in (put("a", "a", list=[value] * (fits + 1)), Update(key=Key("a", "a"), sets={"more": [value] * fits})):
        with pytest.raises(ValueError, match="at most"):
            table.write([write])


def test_a_hundred_writes_are_one_transaction(table: Table) -> None:
    table.write([put("a", f"{i:03d}") for i in range(100)])
    assert len(table.query("a", limit=200)) == 100


# Not on moto, which checks and writes a transaction without a lock: called from several threads, two may win.
@pytest.mark.parametrize("table", ["memory", pytest.param("sandbox", marks=pytest.mark.e2e)], indirect=True)
def test_exactly_one_of_several_concurrent_writers_wins(table: Table) -> None:
    table.write([put("a", "b", version=1)])
    outcomes: list[str] = []

    def write(i: int) -> None:
        try:
            table.write([put("a", "b", Equals("version", 1), version=2, by=i), put("log", str(i))])
            outcomes.append("won")
        except Conflict:
            outcomes.append("lost")

    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["lost"] * 7 + ["won"]
    assert len(table.query("log", limit=10)) == 1


def listed(name: str, key: str, state: str, **attributes: Any) -> Put:
    return put(f"job#{name}", "job", listing="waiting", listingKey=key, jobState=state, jobName=name, **attributes)


def names(
    table: Table, *conditions: Condition, states: tuple[str, ...] = ("pending",), limit: int, descending: bool = False
) -> list[list[str]]:
    """The names on each page."""
    pages: list[list[str]] = []
    after = None
    where = [OneOf("jobState", states), *conditions]
    for _ in range(20):
        page = table.listing("waiting", where=where, after=after, limit=limit, descending=descending)
        pages.append([item["jobName"] for item in page.items])
        after = page.after
        if after is None:
            break
    return pages


def test_a_listing_comes_in_the_order_of_its_keys_page_by_page(table: Table) -> None:
    for name, key in (("c", "3"), ("a", "1"), ("b", "2"), ("d", "4")):
        table.write([listed(name, key, "pending")])
    both = [name for page in names(table, states=("pending",), limit=3) for name in page]
    assert both == ["a", "b", "c", "d"]
    back = [name for page in names(table, states=("pending",), limit=3, descending=True) for name in page]
    assert back == ["d", "c", "b", "a"]
    assert all(len(page) <= 3 for page in names(table, states=("pending",), limit=3))


def test_a_listing_is_filtered_by_state_and_continues_past_omitted_jobs(table: Table) -> None:
    for i in range(6):
        table.write([listed(f"j{i}", f"{i}", "pending" if i % 2 else "preempted")])
    found = [name for page in names(table, states=("preempted",), limit=1) for name in page]
    assert found == ["j0", "j2", "j4"]
    assert [n for page in names(table, states=("preempted", "pending"), limit=4) for n in page] == [
        f"j{i}" for i in range(6)
    ]


def test_a_listing_holds_only_jobs_of_which_every_condition_holds(table: Table) -> None:
    owners = {"bert-1": "ada", "bert-2": "bob", "Bert-3": "ada", "gpt-4": "ada"}
    for key, (name, owner) in enumerate(owners.items()):
        table.write([listed(name, f"{key}", "pending", owner=owner, team="a" if name == "gpt-4" else "")])
    table.write([listed("nobodys", "9", "pending")])

    def found(*conditions: Condition) -> list[str]:
        return [name for page in names(table, *conditions, limit=2) for name in page]

    assert found(Equals("owner", "ada")) == ["bert-1", "Bert-3", "gpt-4"]
    assert found(Equals("owner", "ada"), Contains("jobName", "ert")) == ["bert-1", "Bert-3"]
    assert found(Contains("jobName", "bert"), Equals("owner", "ada")) == ["bert-1"]
    assert found(Equals("team", "a")) == ["gpt-4"]
    assert found(Equals("owner", "ada"), Equals("owner", "bob")) == []


def test_a_listing_can_continue_after_any_job(table: Table) -> None:
    for i in range(4):
        table.write([listed(f"j{i}", f"{i}", "pending")])
    where = [OneOf("jobState", ("pending",))]
    for descending, following in ((False, ["j2", "j3"]), (True, ["j0"])):
        first = table.listing("waiting", where=where, after=None, limit=9, descending=descending).items
        (second,) = (item for item in first if item["jobName"] == "j1")
        rest = table.listing("waiting", where=where, after=position_of(second), limit=9, descending=descending)
        assert [item["jobName"] for item in rest.items] == following


def test_the_last_item_before_a_key_is_found_in_its_partition(table: Table) -> None:
    table.write([put("p", "a", text="x"), put("p", "c", text="y"), put("o", "b", text="z")])
    found = [table.last_before("p", sk) for sk in ("a", "b", "c", "d")]
    assert [each and each["sk"] for each in found] == [None, "a", "a", "c"]
    assert found[3] == {"pk": "p", "sk": "c", "text": "y"}
    assert table.last_before("q", "z") is None


def test_items_are_read_by_their_keys_as_a_listing_has_them(table: Table) -> None:
    for number in range(130):
        table.write([listed(f"j{number}", f"{number}", "running", owner="ada", history=["long"])])
    keys = [Key(f"job#j{number}", "job") for number in range(150)]
    found = table.get_listed(keys[::-1])
    assert [item["jobName"] for item in found] == [f"j{number}" for number in reversed(range(130))]
    assert found[0] == {"pk": "job#j129", "sk": "job", "jobName": "j129", "jobState": "running", "owner": "ada"}
    assert table.get_listed([]) == ()


def test_whole_items_are_read_by_their_keys(table: Table) -> None:
    for number in range(130):
        table.write([put("p", f"{number:03}", text=f"of {number}")])
    found = table.get_all([Key("p", f"{number:03}") for number in reversed(range(150))])
    assert [item["sk"] for item in found] == [f"{number:03}" for number in reversed(range(130))]
    assert found[0] == {"pk": "p", "sk": "129", "text": "of 129"}
    assert table.get_all([]) == ()


def scanned(table: Table, sort_keys: tuple[str, ...], limit: int, between: Callable[[], None]) -> list[list[Any]]:
    """The items on each page of a scan; `between` runs after each."""
    pages: list[list[Any]] = []
    after = None
    while True:
        page = table.scan(sort_keys, after=after, limit=limit)
        pages.append(list(page.items))
        after = page.after
        if after is None:
            return pages
        between()


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_scan_has_each_item_with_a_sort_key_of_all_partitions_once(table: Table, limit: int) -> None:
    for number in range(5):
        table.write([put(f"p{number}", sk, number=number, words=["x"]) for sk in ("a", "b", "c")])
    pages = scanned(table, ("a", "c"), limit, lambda: None)
    assert all(len(page) <= limit for page in pages)
    found = sorted(((item["pk"], item["sk"]), item) for page in pages for item in page)
    assert [key for key, _ in found] == [(f"p{number}", sk) for number in range(5) for sk in ("a", "c")]
    assert found[0][1] == {"pk": "p0", "sk": "a", "number": 0, "words": ["x"]}


def test_an_item_that_changes_its_place_in_a_listing_is_in_a_scan_once(table: Table) -> None:
    places = iter(range(100))

    def move() -> None:
        table.write([listed(f"j{number}", f"{next(places)}", "pending") for number in range(4)])

    move()
    pages = scanned(table, ("job",), 1, move)
    assert sorted(item["jobName"] for page in pages for item in page) == ["j0", "j1", "j2", "j3"]


def test_an_empty_table_is_scanned_as_one_empty_page(table: Table) -> None:
    assert scanned(table, ("job",), 9, lambda: None) == [[]]
