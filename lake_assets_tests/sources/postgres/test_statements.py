from contextlib import closing

import pytest

from lake_assets.sources.postgres.landing import Landing
from lake_assets_tests.sources.postgres.landings import land, landed, source_of

TYPES = """
create type mood as enum ('sad');
create table "Odd_names" (
    "a%b" int, "C:d" numeric, "E""f" bytea, at timestamptz, local timestamp,
    day date, tags text[], body jsonb, ratio float8, kind mood, id uuid, took interval,
    r int, gone text
);
alter table "Odd_names" drop column gone;
insert into "Odd_names" values (
    1, 12345678901234567890.123456789, decode(repeat('ff', 100), 'hex'),
    '2026-11-26 09:00:00.123456+01', '2026-11-26 09:00', '2026-11-26', '{a,null}',
    '{"deep": [1.10]}', 'nan', 'sad', '00000000-0000-0000-0000-000000000001', '1 day 02:00'
), (
    2, 'infinity', '', 'infinity', '-infinity', '0044-03-15 bc', '{}', '"é"', 0.1, null, null, null
)
"""

SAME = """update "Odd_names" set "a%b" = 7, kind = 'sad', took = '1s', id = gen_random_uuid()"""


def test_rows_are_json_that_holds_their_values_as_they_are(database, lake):
    database.ask(TYPES)
    source = source_of(database, table="Odd_names", watermark="a%b", key=['E"f', "C:d"])
    land(source, lake)
    assert land(source, lake) == 2
    first, second = landed(lake, as_written=True)
    assert first == (
        '{"a%b":1,"C:d":12345678901234567890.123456789,"E\\"f":"' + "/" * 133 + 'w==",'
        '"at":"2026-11-26T08:00:00.123456+00:00","local":"2026-11-26T09:00:00",'
        '"day":"2026-11-26","tags":["a",null],"body":{"deep": [1.10]},"ratio":"NaN",'
        '"kind":"sad","id":"00000000-0000-0000-0000-000000000001","took":"1 day 02:00:00","r":null}'
    )
    assert second == (
        '{"a%b":2,"C:d":"Infinity","E\\"f":"","at":"infinity","local":"-infinity",'
        '"day":"0044-03-15 BC","tags":[],"body":"é","ratio":0.1,"kind":null,"id":null,"took":null,'
        '"r":null}'
    )


def test_a_pass_goes_on_behind_its_last_row_whatever_its_types(database, lake, monkeypatch):
    monkeypatch.setattr("lake_assets.sources.postgres.landing._ROWS", 1)
    monkeypatch.setattr("lake_assets.sources.postgres.database._FIRST_ROWS", 1)
    database.ask(TYPES)
    database.ask(SAME)
    key = ['E"f', "C:d", "at", "local", "day", "ratio", "tags", "kind", "id", "took", "body"]
    source = source_of(database, table="Odd_names", watermark="a%b", key=key)
    with closing(Landing(source, lake, "purchases")) as landing:
        assert landing.step()
        assert landing.end == 1
    assert land(source, lake) == 2
    assert {row["day"] for row in landed(lake)} == {"2026-11-26", "0044-03-15 BC"}


@pytest.mark.parametrize("kind", ["char(3)", "bit(3)", "varchar(3)"])
def test_a_first_pass_goes_on_behind_a_key_of_a_type_with_a_length(
    database, lake, monkeypatch, kind
):
    monkeypatch.setattr("lake_assets.sources.postgres.landing._ROWS", 1)
    monkeypatch.setattr("lake_assets.sources.postgres.database._FIRST_ROWS", 1)
    monkeypatch.setattr("lake_assets.sources.postgres.database._MOST_ROWS", 1)
    database.ask(f"create table purchases (code {kind} primary key, n int default 1)")
    database.ask("insert into purchases values ('100'), ('101'), ('110')")
    source = source_of(database, watermark="n", key=["code"])
    for _ in range(2):
        with closing(Landing(source, lake, "purchases")) as landing:
            assert landing.step()
    land(source, lake)
    assert [row["code"] for row in landed(lake)] == ["100", "101", "110"]


@pytest.mark.parametrize(
    ("kind", "extreme", "usual"),
    [
        ("timestamptz", "-infinity", "now"),
        ("timestamptz", "294276-12-31 23:59Z", "now"),
        ("timestamp", "4713-11-25 BC", "now"),
        ("date", "5874897-12-31", "now"),
        ("bigint", "-9223372036854775808", "5"),
    ],
)
def test_watermarks_at_the_ends_of_their_type_stop_nothing(database, lake, kind, extreme, usual):
    database.ask(f"create table purchases (purchase_id int primary key, at {kind})")
    add = "insert into purchases values (%s, %s)"
    database.ask(add, 1, extreme)
    source = source_of(database, watermark="at")
    land(source, lake)
    land(source, lake)
    database.ask(add, 2, usual)
    land(source, lake)
    assert [row["purchase_id"] for row in landed(lake)] == [1, 2]


def test_how_the_server_writes_times_and_numbers_for_others_is_not_ours(
    database, lake, monkeypatch
):
    monkeypatch.setattr("lake_assets.sources.postgres.landing._ROWS", 1)
    monkeypatch.setattr("lake_assets.sources.postgres.database._FIRST_ROWS", 1)
    database.ask("create table purchases (at timestamptz, day date, ratio float8)")
    for day in ("01", "02", "03"):
        add = "insert into purchases values (%s, %s, 0.1::float8 + 0.2::float8)"
        database.ask(add, f"2026-{day}-05 10:00:00.123456Z", f"2026-{day}-05")
    name = database.url.rpartition("/")[2].partition("?")[0]
    for setting in ("datestyle = 'SQL, DMY'", "extra_float_digits = 0"):
        database.ask(f"alter database {name} set {setting}")
    source = source_of(database, watermark="at", key=["day", "ratio"])
    with closing(Landing(source, lake, "purchases")) as landing:
        assert landing.step()
    land(source, lake)
    assert land(source, lake) == 3
    assert [row["day"] for row in landed(lake)] == ["2026-01-05", "2026-02-05", "2026-03-05"]
    assert landed(lake)[0]["ratio"] == 0.1 + 0.2
