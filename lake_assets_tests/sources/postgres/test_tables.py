import pytest

from lake_assets.errors import SettingsError, SourceError, SourceNotFoundError
from lake_assets_tests.databases import running_postgres
from lake_assets_tests.sources.postgres.landings import PURCHASES, land, landed, source_of

ADD = "insert into purchases (player) values ('ann')"

VIEW = "alter table purchases rename to p; create view purchases as select * from p"

OVER_VIEW = """
alter materialized view purchases rename to m; create view purchases as select * from m
"""

NULL_KEY = f"""{PURCHASES}; alter table purchases alter player drop not null;
alter table purchases alter player set default null; insert into purchases default values"""

PARTITIONED = """
create table purchases (purchase_id int default 1, player text, updated_at timestamp default now())
partition by range (updated_at);
create table p partition of purchases default
"""

OF_DAYS = """
create domain day as date;
create domain moment as day;
create domain bytes as bytea;
create domain raw as bytes;
create table purchases (purchase_id int default 1, player text, updated_at moment default now(),
    blob raw default '\\x00ff')
"""


@pytest.mark.parametrize(
    ("sql", "declared", "says"),
    [
        ("select 1", {}, "is not there"),
        (PURCHASES, {"table": "nowhere.purchases"}, "is not there"),
        (PURCHASES, {"watermark": "changed_at"}, "has no column 'changed_at'"),
        (PURCHASES, {"key": ["purchase_id", "line"]}, "has no column 'line'"),
        (PURCHASES, {"watermark": "amount"}, "has a watermark 'amount' of type numeric"),
        (PURCHASES, {"late": 5}, "`late: 5` is a number"),
        (PURCHASES, {"watermark": "changes", "late": "5m"}, "`late` is a duration"),
        ("create sequence purchases", {}, "is no table or view"),
        (f"{PURCHASES}; {ADD}; {ADD}", {"key": ["player"], "watermark": "changes"}, "same key"),
        (NULL_KEY, {"key": ["purchase_id", "player"]}, "is null"),
    ],
)
def test_what_cannot_be_read_as_declared_is_told(database, lake, sql, declared, says):
    database.ask(sql)
    with pytest.raises(SourceError, match=says):
        land(source_of(database, **declared), lake)


def test_who_may_not_read_is_told_what_to_grant(database, lake):
    database.ask(PURCHASES)
    database.ask("create user reader")
    source = source_of(database, user="reader")
    with pytest.raises(SourceError, match=r"grant select on public\.purchases to reader"):
        land(source, lake)
    database.ask("grant select (purchase_id, player, updated_at) on purchases to reader")
    database.ask(ADD)
    land(source, lake)
    assert landed(lake)[0].keys() == {"purchase_id", "player", "updated_at"}
    database.ask("revoke all on schema public from public")
    with pytest.raises(SourceError, match=r"permission denied.*Grant what is missing"):
        land(source, lake)


def test_a_password_and_its_variable_are_asked_for_and_not_told(database, lake, monkeypatch):
    database.ask(PURCHASES)
    database.ask("create user teller password 'a-right-one'")
    database.require_password("teller")
    source = source_of(database, user="teller", password={"env": "BILLING_PASSWORD"})
    with pytest.raises(SettingsError, match="BILLING_PASSWORD"):
        land(source, lake)
    monkeypatch.setenv("BILLING_PASSWORD", "a-wrong-one")
    with pytest.raises(SourceError, match="password authentication failed") as problem:
        land(source, lake)
    assert "a-wrong-one" not in str(problem.value)


def test_a_server_that_is_away_is_told(database, lake):
    source = source_of(database, url="postgresql://127.0.0.1:1/billing", timeout="2s")
    with pytest.raises(SourceError, match=r"refused.*Check the address"):
        land(source, lake)


def test_an_answer_that_takes_too_long_is_told(database, lake):
    database.ask(PURCHASES)
    database.ask(ADD)
    database.ask("create view slow as select p.*, pg_sleep(5)::text as s from purchases p")
    with pytest.raises(SourceError, match=r"statement timeout.*give a longer `timeout`"):
        land(source_of(database, table="slow", timeout="1s"), lake)


@pytest.mark.parametrize(
    ("table", "view"),
    [
        (PURCHASES, VIEW),
        (PARTITIONED, ""),
        (OF_DAYS, ""),
    ],
)
def test_views_and_partitioned_tables_are_read(database, lake, table, view):
    database.ask(table)
    database.ask(view)
    database.ask(ADD.replace("into purchases", "into p") if view else ADD)
    source = source_of(database)
    assert land(source, lake) == 1
    assert land(source, lake) == 1
    assert landed(lake)[0].get("blob") in {None, "AP8="}


@pytest.mark.parametrize("over", ["", OVER_VIEW])
def test_of_a_materialized_view_late_covers_transactions(database, lake, over):
    """What a transaction brings comes with a refresh after it, and no snapshot tells when."""
    add = "insert into p (player, updated_at) values (%s, %s)"
    database.ask(PURCHASES)
    database.ask(VIEW.replace("view", "materialized view"))
    database.ask(over or "select 1")
    refresh = f"refresh materialized view {'m' if over else 'purchases'}"
    with pytest.raises(SourceError, match=r"(is|reads) a materialized view.*Declare `late`"):
        land(source_of(database), lake)
    source = source_of(database, late="90m")
    with database.begin() as late:
        late.execute(add, ["late", "2026-01-01 10:00Z"])
        database.ask(add, "bob", "2026-01-01 11:00Z")
        database.ask(refresh)
        late.commit()
    assert land(source, lake) == 1
    database.ask(refresh)
    assert land(source, lake) == 2


def test_another_table_or_database_in_the_same_place_is_refused(databases, database, lake):
    database.ask(PURCHASES)
    database.ask(ADD)
    land(source_of(database), lake)
    with pytest.raises(SourceError, match="was read by updated_at, purchase_id so far"):
        land(source_of(database, key=["purchase_id", "player"]), lake)
    database.ask("alter table purchases rename to old")
    database.ask(PURCHASES)
    with pytest.raises(SourceError, match=r"is another table \(oid"):
        land(source_of(database), lake)
    assert land(source_of(database, table="old"), lake) == 1
    other = databases()
    other.ask(PURCHASES)
    with pytest.raises(SourceError, match="is in another database"):
        land(source_of(other), lake)
    database.ask("drop table purchases")
    with pytest.raises(SourceNotFoundError):
        land(source_of(database), lake)


@pytest.mark.parametrize("kinds", [("bigint", "timestamptz"), ("timestamptz", "bigint")])
def test_a_watermark_that_became_a_time_or_a_number_is_refused(database, lake, kinds):
    before, after = kinds
    database.ask(f"create table purchases (purchase_id int, updated_at {before})")
    add = "insert into purchases values (1, %s)"
    database.ask(add, "1700000000000" if before == "bigint" else "now")
    land(source_of(database), lake)
    database.ask("truncate purchases")  # also where its numbers are not behind
    database.ask(f"alter table purchases alter updated_at type {after} using null")
    database.ask(add, "now" if before == "bigint" else "9000000000000000000")
    with pytest.raises(SourceError, match=r"has a (time|number) in 'updated_at', which was a"):
        land(source_of(database), lake)


@pytest.mark.slow
def test_a_replica_is_read_where_late_is_declared(lake):
    with running_postgres() as databases:
        database = databases()
        database.ask(PURCHASES)
        database.ask(ADD)
        database.server.stop()
        (database.folder / "data" / "standby.signal").touch()
        database.server.start()
        with pytest.raises(SourceError, match=r"is on a replica.*Declare `late`"):
            land(source_of(database), lake)
        assert land(source_of(database, late="1h"), lake) == 1
        assert land(source_of(database, late="1h"), lake) == 1
