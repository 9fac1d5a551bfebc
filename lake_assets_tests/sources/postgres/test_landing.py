import subprocess
import sys
from collections import Counter
from random import Random

import pytest
from deltalake import DeltaTable

from lake_assets.errors import LakeError, SourceError
from lake_assets.model.tables import landed_of
from lake_assets.sources.landing.table import files_with, handle_of, landed_rows
from lake_assets.sources.postgres import statements
from lake_assets.sources.postgres.landed import COLUMNS
from lake_assets.sources.postgres.unseen import has_new_rows
from lake_assets_tests.sources.postgres.landings import PURCHASES, land, landed, source_of


def _players(lake):
    return [row["player"] for row in landed(lake)]


def test_rows_land_once_and_again_when_they_change(database, lake):
    source = source_of(database)
    database.ask(PURCHASES)
    database.ask("insert into purchases (player, amount) values ('ann', 9.90), ('bob', 1)")
    assert land(source, lake) == 2
    assert land(source, lake) == 2
    database.ask("update purchases set amount = 10, updated_at = now() where player = 'ann'")
    assert land(source, lake) == 3
    assert _players(lake) == ["ann", "bob", "ann"]


def test_a_row_whose_transaction_commits_late_lands_once(database, lake):
    source = source_of(database, late="1s")
    add = "insert into purchases (player, updated_at) values (%s, %s)"
    database.ask(PURCHASES)
    database.ask(add, "ann", "2026-01-01 10:00Z")
    with database.begin() as late:
        late.execute("savepoint inner_one")
        late.execute(add, ["late", "2026-01-01 10:00Z"])
        late.execute("release inner_one")
        for hour in (11, 12, 13):
            database.ask(add, "bob", f"2026-01-01 {hour}:00Z")
            land(source, lake)
        assert Counter(_players(lake)) == {"ann": 1, "bob": 3}
    for _ in range(3):
        land(source, lake)
    assert Counter(_players(lake)) == {"ann": 1, "bob": 3, "late": 1}


def test_a_transaction_that_wrote_last_and_commits_late_is_no_exception(database, lake):
    """Its number is the one that a snapshot calls `xmax`, as if it were yet to come."""
    source = source_of(database, late="1s")
    add = "insert into purchases (player, updated_at) values (%s, %s)"
    database.ask(PURCHASES)
    database.ask(add, "ann", "2026-01-01 10:00Z")
    land(source, lake)
    with database.begin() as early, database.begin() as late:
        early.execute(add, ["early", "2026-01-01 10:00Z"])
        late.execute(add, ["late", "2026-01-01 10:00Z"])
        early.execute(add, ["bob", "2026-01-01 13:00Z"])
        early.commit()
        land(source, lake)
        database.ask(add, "cid", "2026-01-01 13:00Z")
        for _ in range(3):
            land(source, lake)
    land(source, lake)
    assert Counter(_players(lake)) == dict.fromkeys(["ann", "early", "bob", "cid", "late"], 1)


def test_a_column_that_is_added_brings_no_row_again(database, lake):
    source = source_of(database)
    database.ask(PURCHASES)
    database.ask("insert into purchases (player, amount) values ('ann', 1.50), ('bob', null)")
    land(source, lake)
    database.ask("alter table purchases add column currency text default 'EUR'")
    database.ask("alter table purchases drop column changes")
    database.ask("insert into purchases (player) values ('cid')")
    assert land(source, lake) == 3
    assert landed(lake)[2].keys() == {"purchase_id", "player", "amount", "updated_at", "currency"}


def test_a_change_that_leaves_the_watermark_alone_is_seen_while_it_is_young(database, lake):
    source = source_of(database)
    database.ask(PURCHASES)
    database.ask("insert into purchases (player, amount) values ('ann', 1.50)")
    land(source, lake)
    for amount in ("1.55", "1.50"):
        database.ask("update purchases set amount = %s", amount)
        land(source, lake)
    assert [row["amount"] for row in landed(lake)] == [1.5, 1.55, 1.5]


def test_rows_without_a_watermark_come_when_they_get_one(database, lake):
    source = source_of(database)
    database.ask(PURCHASES)
    database.ask("alter table purchases alter column updated_at drop not null")
    database.ask("insert into purchases (player, updated_at) values ('none', null), ('ann', now())")
    land(source, lake)
    assert _players(lake) == ["ann"]
    database.ask("update purchases set updated_at = now() where player = 'none'")
    land(source, lake)
    assert _players(lake) == ["ann", "none"]


def test_watermarks_ahead_of_their_time_hide_nothing(database, lake):
    source = source_of(database)
    add = "insert into purchases (player, updated_at) values (%s, %s)"
    database.ask(PURCHASES)
    database.ask(add, "never", "infinity")
    database.ask(add, "first", "-infinity")
    database.ask(add, "later", "2999-01-01Z")
    land(source, lake)
    database.ask("insert into purchases (player) values ('ann')")
    land(source, lake)
    land(source, lake)
    assert _players(lake) == ["first", "later", "never", "ann"]


def test_a_clock_that_was_set_back_hides_nothing(database, lake, monkeypatch):
    source = source_of(database)
    add = "insert into purchases (player, updated_at) values (%s, now() + %s::interval)"
    database.ask(PURCHASES)
    database.ask(add, "ann", "1 day")
    with monkeypatch.context() as ahead:
        told = statements.SNAPSHOT.replace("now()", "now() + interval '1 day'")
        ahead.setattr(statements, "SNAPSHOT", told)
        land(source, lake)
    for player in ("bob", "cid"):
        database.ask(add, player, "0")
        assert has_new_rows(source, lake, "purchases")
        land(source, lake)
    land(source, lake)
    assert _players(lake) == ["ann", "bob", "cid"]


def test_of_dates_a_day_more_is_looked_at_again(database, lake):
    source = source_of(database, watermark="day", late="1s")
    database.ask(PURCHASES)
    database.ask("alter table purchases add column day date default current_date")
    database.ask("insert into purchases (player) values ('ann')")
    land(source, lake)
    database.ask("insert into purchases (player, day) values ('bob', current_date - 1)")
    land(source, lake)
    assert _players(lake) == ["ann", "bob"]


def test_numbers_of_a_sequence_are_a_watermark(database, lake):
    source = source_of(database, watermark="purchase_id", late=2)
    add = "insert into purchases (player) values (%s)"
    database.ask(PURCHASES)
    with database.begin() as late:
        late.execute(add, ["late"])
        for player in "abcde":
            database.ask(add, player)
        land(source, lake)
        database.ask(
            "insert into purchases (purchase_id, player) overriding system value "
            "values (1000000, 'ahead')"
        )
        land(source, lake)
    database.ask(add, "f")
    for _ in range(3):
        land(source, lake)
    assert _players(lake) == [*"abcde", "ahead", "late", "f"]
    database.ask("truncate purchases restart identity")
    database.ask(add, "anew")
    with pytest.raises(SourceError, match="numbers are given anew"):
        land(source, lake)


def test_files_that_are_joined_are_known_still(database, lake, tmp_path):
    source = source_of(database)
    database.ask(PURCHASES)
    for player in ("ann", "bob", "cid"):
        database.ask("insert into purchases (player) values (%s)", player)
        land(source, lake)
    table = DeltaTable(tmp_path / landed_of("purchases").relative)
    assert table.optimize.compact()["numFilesAdded"] == 1
    database.ask("update purchases set amount = 1, updated_at = now() where player = 'ann'")
    assert land(source, lake) == 4
    files = files_with(handle_of(lake, "purchases"), "ordinal", 1, 3)
    rows = [
        row
        for part in landed_rows(lake, "purchases", COLUMNS, files, (1, 4))
        for row in part.to_pylist()
    ]
    assert [row["ordinal"] for row in rows] == [1, 2, 3]


def test_a_lake_s_table_that_was_put_back_is_refused(database, lake, tmp_path):
    source = source_of(database)
    database.ask(PURCHASES)
    for player in ("ann", "bob"):
        database.ask("insert into purchases (player) values (%s)", player)
        land(source, lake)
    DeltaTable(tmp_path / landed_of("purchases").relative).restore(1)
    with pytest.raises(LakeError, match="was put back to an older version"):
        land(source, lake)


def test_what_is_far_behind_is_not_looked_at_again(database, lake):
    source = source_of(database, late="1s")
    add = "insert into purchases (player, updated_at) values (%s, %s)"
    database.ask(PURCHASES)
    database.ask(add, "ann", "2026-01-01 10:00Z")
    database.ask(add, "bob", "2026-01-01 11:00Z")
    land(source, lake)
    database.ask(add, "too late", "2026-01-01 10:59:58Z")
    database.ask(add, "in time", "2026-01-01 10:59:59Z")
    land(source, lake)
    assert _players(lake) == ["ann", "bob", "in time"]


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_by_kills(database, lake, tmp_path):
    random = Random(7)  # noqa: S311 - nobody is to be kept from guessing
    database.ask(PURCHASES)
    module = "lake_assets_tests.sources.postgres.land_forever"
    command = [sys.executable, "-m", module, database.url, str(tmp_path)]
    late = []
    for _ in range(6):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own
            try:
                process.stdout.readline()
                for _ in range(random.randint(2, 8)):
                    _change_something(database, late, random)
            finally:
                process.kill()
    for connection in late:
        connection.commit()
        connection.close()
    land(source_of(database, late="1s"), lake)
    wanted = database.ask("select purchase_id, changes from purchases")
    found = Counter((row["purchase_id"], row["changes"]) for row in landed(lake))
    assert set(wanted) <= set(found)
    assert set(found.values()) == {1}


def _change_something(database, late, random):
    """Rows that come and change, some in transactions that end later."""
    kind = random.random()
    if kind < 0.3:
        connection = database.begin()
        connection.execute("insert into purchases (player) values ('late')")
        late.append(connection)
    elif kind < 0.5 and late:
        with late.pop(0) as connection:
            connection.commit()
    elif kind < 0.7:
        database.ask(
            "update purchases set changes = changes + 1, updated_at = clock_timestamp() where "
            "purchase_id in (select purchase_id from purchases order by random() limit 3)"
        )
    else:
        database.ask(
            "insert into purchases (player, updated_at) "
            "select 'many', clock_timestamp() from generate_series(1, 8)"
        )
