import json
from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.backup.table_restore import table_restore
from lake_assets.delta.window_position import LATE_ROWS
from lake_assets.errors import CommitConflictError, ExpectationFailedError, FeedError
from lake_assets.gold.run import Warm, refresh_views
from lake_assets.gold.status import views_behind
from lake_assets.gold.window_job import compute_windows
from lake_assets.gold.window_refresh import refresh_windows
from lake_assets.logs.entries import Entry
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.gold_views import GoldView, Windows
from lake_assets.model.reports import Judged, Mode
from lake_assets.model.routes import Route
from lake_assets_tests.gold.silver import SCHEMA, append_silver
from lake_assets_tests.sample import GAMES

pytestmark = pytest.mark.spark

VIEW = GoldView(
    name="by_ten",
    windows=Windows(time="event_timestamp", every="10s", watermark="4s"),
    keys=["gamer_id"],
    measures={"n": "count(*)", "devices": "count(distinct device_id)"},
)
"""Also a measure that cannot be merged."""


@pytest.fixture
def bring(spark, context):
    def run(view=VIEW, keys=("uno", "go_fish"), blocked=None, route=GAMES.route, **options):
        feed = GAMES.model_copy(update={"gold": (view,), "route": route})
        report = refresh_windows(spark, feed, view, keys, context, blocked, **options)
        return {one.key: one for one in report.refreshed}

    return run


@pytest.fixture
def rows(lake):
    def read(key="uno", view=VIEW):
        table = DeltaTable(lake / GAMES.gold_table(view, key).relative).to_pyarrow_table()
        assert set(table.column_names) == set(view.columns)
        return sorted(
            (int(row["window_start"].timestamp()), row["gamer_id"], row["n"])
            for row in table.to_pylist()
        )

    return read


offsets = iter(range(1_000_000))


def add(lake, *events, key="uno", came=None):
    """One commit of silver: gamers and seconds, which came at the second `came`."""
    found = [
        {
            "game_name": key,
            "gamer_id": gamer,
            "event_timestamp": None if at is None else round(at * 1_000_000),
            "device_id": gamer,
            "_topic": "t",
            "_partition": 0,
            "_offset": next(offsets),
            "_kafka_timestamp": None if came is None else round(came * 1_000_000),
        }
        for gamer, at in events
    ]
    append_silver(lake, key, pa.Table.from_pylist(found, schema=SCHEMA))


def test_a_window_appears_when_the_watermark_has_passed_its_end_and_stays(bring, rows, lake):
    add(lake, ("ann", 1), ("bob", 2), ("ann", 13.9))
    assert bring()["uno"].rows == 0
    assert rows() == []
    add(lake, ("ann", 3), ("cid", 14))
    done = bring()["uno"]
    assert (done.mode, done.rows, done.rows_written, done.late_rows) == (Mode.INCREMENTAL, 2, 2, 0)
    assert rows() == [(0, "ann", 2), (0, "bob", 1)]
    add(lake, ("ann", 24))
    bring()
    assert rows() == [(0, "ann", 2), (0, "bob", 1), (10, "ann", 1), (10, "cid", 1)]
    assert bring() == {}


def test_a_view_that_was_put_back_goes_on_from_there(bring, rows, lake, settings):
    """Its older windows have rows that silver may have let go of since."""
    add(lake, ("ann", 1), ("bob", 14))
    bring()
    add(lake, ("cid", 24))
    bring()
    whole = rows()
    table = GAMES.gold_table(VIEW, "uno")
    version = DeltaTable(lake / table.relative).version() - 1
    with table_restore(settings, table, version) as (planned, put):
        put()
    assert "brings it up to date" in planned.follows[-1]
    assert rows() == whole[:1]
    add(lake, ("ann", 34))
    assert bring()["uno"].mode is Mode.INCREMENTAL
    assert rows() == [*whole, (20, "cid", 1)]


def test_rows_that_come_too_late_are_counted_and_told_of_and_not_added(bring, rows, lake):
    add(lake, ("ann", 1), ("ann", 14))
    bring()
    add(lake, ("bob", 2), ("bob", 9.5), ("bob", 11), (None, None))
    done = bring()["uno"]
    assert done.late_rows == 2
    assert "2 rows came after their windows were closed, of 1970-01-01 00:00:02 to " in done.why
    assert "such as t/0/" in done.why
    assert rows() == [(0, "ann", 1)]
    add(lake, ("cid", 3), ("cid", 24))
    done = bring()["uno"]
    assert (done.late_rows, done.late_rows_in_all) == (1, 3)
    assert rows() == [(0, "ann", 1), (10, "ann", 1), (10, "bob", 1)]
    info = DeltaTable(lake / GAMES.gold_table(VIEW, "uno").relative).history(1)[0]
    assert info[LATE_ROWS] == "3"
    assert bring() == {}


def test_each_key_has_a_watermark_of_its_own(bring, rows, lake):
    add(lake, ("ann", 1), ("ann", 30))
    add(lake, ("bob", 1), ("bob", 2), key="go_fish")
    bring()
    assert (rows(), rows("go_fish")) == ([(0, "ann", 1)], [])
    add(lake, ("bob", 14), key="go_fish")
    assert set(bring()) == {"go_fish"}
    assert rows("go_fish") == [(0, "bob", 2)]


def test_however_often_it_is_refreshed_the_windows_are_those_of_one_refresh(bring, rows, lake):
    """As long as no row is late."""
    events = [(gamer, at) for at in range(0, 100, 3) for gamer in ("ann", "bob")]
    for begin in range(0, len(events), 9):
        add(lake, *events[begin : begin + 9])
        bring()
    step_by_step = rows()
    bring(full_refresh=True)
    assert rows() == step_by_step
    assert {start for start, *_ in step_by_step} == set(range(0, 90, 10))


def test_in_full_no_row_is_late(bring, rows, lake):
    add(lake, ("ann", 1), ("ann", 14))
    bring()
    add(lake, ("bob", 2))
    assert bring()["uno"].late_rows == 1
    done = bring(full_refresh=True)["uno"]
    assert (done.mode, done.why, done.late_rows) == (Mode.FULL, "asked for", 0)
    assert rows() == [(0, "ann", 1), (0, "bob", 1)]


def test_a_refresh_that_closes_nothing_reads_no_data_file(bring, lake, monkeypatch):
    add(lake, ("ann", 1), ("ann", 14))
    bring()
    add(lake, ("ann", 15))
    monkeypatch.setattr("lake_assets.gold.window_job.read_contents", pytest.fail)
    done = bring()["uno"]
    assert done.why == "silver gained 1 file since, and no window closed"
    assert bring() == {}


def test_files_without_statistics_are_read(bring, rows, lake):
    add(lake, ("ann", 1))
    bring()
    add(lake, ("ann", 2), ("ann", 14))
    log = lake / GAMES.silver_table("uno").relative / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["stats"] = json.dumps({"numRecords": 2})
    log.write_text("\n".join(map(json.dumps, actions)))
    bring()
    assert rows() == [(0, "ann", 2)]


DAY = 86_400


@pytest.mark.parametrize("wrong", [330 * 365 * DAY, DAY + 41])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_row_that_is_far_ahead_of_its_arrival_makes_no_other_late(
    bring, rows, lake, wrong, is_first
):
    add(lake, ("ann", 1), ("ann", 14), came=20)
    if not is_first:
        bring()
    add(lake, ("ann", 15), ("bad", wrong), came=40)
    done = bring()["uno"]
    assert "1 row says a time more than 1 day" in done.why
    assert rows() == [(0, "ann", 1), (10, "ann", 2)]
    add(lake, ("ann", 31), ("ann", 44), came=50)
    assert bring()["uno"].late_rows == 0
    assert rows() == [(0, "ann", 1), (10, "ann", 2), (30, "ann", 1)]
    bring(full_refresh=True)
    assert rows() == [(0, "ann", 1), (10, "ann", 2), (30, "ann", 1)]


def test_a_row_that_is_not_too_far_ahead_closes_windows_and_so_does_one_that_came_at_no_time(
    bring, rows, lake
):
    windows = VIEW.windows.model_copy(update={"ahead": timedelta(hours=1)})
    view = VIEW.model_copy(update={"windows": windows})
    add(lake, ("ann", 1), ("ann", 3_620), came=20)
    bring(view)
    assert rows(view=view) == [(0, "ann", 1)]
    add(lake, ("ann", 3_634), came=0)
    bring(view)
    assert rows(view=view) == [(0, "ann", 1), (3_620, "ann", 1)]


def _nothing_untold(_session, _compiled, untold):
    assert untold == {}
    return {}


def test_what_the_log_tells_to_be_near_its_arrival_is_not_read(bring, lake, monkeypatch):
    add(lake, ("ann", 1), ("ann", 14), came=20)
    bring()
    monkeypatch.setattr("lake_assets.gold.window_refresh.newest_times", _nothing_untold)
    add(lake, ("ann", 24), came=30)
    assert bring()["uno"].rows_written == 1


@pytest.mark.long
def test_small_files_of_a_view_become_one(bring, rows, lake):
    for window in range(20):
        add(lake, ("ann", window * 10 + 1), ("ann", window * 10 + 14))
        done = bring()["uno"]
    assert done.files < 16
    assert len(rows()) == 20
    assert {start: n for start, _, n in rows()} == {0: 1, **dict.fromkeys(range(10, 200, 10), 2)}


def test_of_two_refreshes_from_one_position_the_second_is_refused(bring, rows, lake, monkeypatch):
    add(lake, ("ann", 1), ("ann", 14))
    bring()
    add(lake, ("ann", 24))
    name = "lake_assets.gold.window_refresh.compute_windows"

    def late(*arguments):
        monkeypatch.setattr(name, compute_windows)
        bring()
        return compute_windows(*arguments)

    monkeypatch.setattr(name, late)
    with pytest.raises(CommitConflictError):
        bring()
    assert rows() == [(0, "ann", 1), (10, "ann", 1)]


def test_a_refresh_of_the_feeds_views_knows_those_of_windows(settings, spark, context, lake, rows):
    feed = GAMES.model_copy(update={"gold": (VIEW,)})
    entries: list[Entry] = []
    warm = Warm(session=spark, context=context, keep=entries.extend)
    add(lake, ("ann", 1), ("ann", 14))
    assert views_behind(settings, feed) == {"by_ten": ("uno",)}
    refresh_views(settings, feed, warm=warm)
    add(lake, ("bob", 2))
    refresh_views(settings, feed, warm=warm)
    assert views_behind(settings, feed) == {"by_ten": ()}
    assert rows() == [(0, "ann", 1)]
    logged = [row for entry in entries for row in entry.rows["stream_log"]]
    assert [row["late_rows"] for row in logged] == [0, 1]
    assert "1 row came after its window was closed, of 1970-01-01 00:00:02 UTC" in logged[1]["why"]


def test_a_game_that_is_held_up_keeps_its_windows_open(bring, rows, lake):
    add(lake, ("ann", 1), ("ann", 14))
    assert bring(blocked={"uno": "it fails"}) == {}
    assert set(bring()) == {"uno"}
    assert rows() == [(0, "ann", 1)]


def test_a_failing_expectation_changes_nothing(bring, rows, lake):
    rule = Expectation(name="some", sql="n > 1", action=Action.FAIL)
    view = VIEW.model_copy(update={"expectations": (rule,)})
    add(lake, ("ann", 1), ("ann", 2), ("ann", 14))
    bring(view)
    add(lake, ("ann", 24))
    with pytest.raises(ExpectationFailedError):
        bring(view)
    assert rows() == [(0, "ann", 2)]


@pytest.mark.long
def test_a_window_is_judged_when_it_is_added_and_not_again_when_files_become_one(
    spark, context, lake
):
    rule = Expectation(name="some", sql="n > 1", action=Action.WARN)
    feed = GAMES.model_copy(update={"gold": (VIEW.model_copy(update={"expectations": (rule,)}),)})
    judged, files = [], []
    for window in range(20):
        rows_before = [("ann", window * 10 - 1)] if window else []
        add(lake, *rows_before, ("ann", window * 10 + 1), ("ann", window * 10 + 14))
        report = refresh_windows(spark, feed, feed.gold[0], ["uno"], context)
        judged.append(report.judged["uno", "some"])
        files.append(report.refreshed[0].files)
    assert judged == [Judged(seen=1, violated=1)] + [Judged(seen=1, violated=0)] * 19
    assert max(files) > files[-1]


def test_silver_without_the_time_is_told_with_what_it_has(bring, lake):
    add(lake, ("ann", 1))
    windows = VIEW.windows.model_copy(update={"time": "gamer_id"})
    with pytest.raises(FeedError, match=r"no timestamp of silver. Silver's .* event_timestamp"):
        bring(VIEW.model_copy(update={"windows": windows}))


def test_a_key_that_no_column_holds_is_told_by_the_table(bring, rows, lake):
    route = Route(column="game_name", keys=("uno", "go_fish"), aliases={"UNO": "uno"})
    for key in ("uno", "go_fish"):
        add(lake, ("ann", 1), ("ann", 14), key=key)
    bring(route=route)
    assert rows("uno") == rows("go_fish") == [(0, "ann", 1)]
    add(lake, ("ann", 2), key="uno")
    assert bring(route=route)["uno"].late_rows == 1
