"""A simulated month of Dagster's storage: `python -m benchmarks.dagster_month`; needs no Java.

Each day ends with a report of the job `streams` and one of a refresh that go through the real code;
what else the day stores are copies of theirs, row by row, since Dagster would take a day to store
them one by one. Old runs are purged by the real code, as of each day's end. All games are busy all
day, and two of their views are refreshed every five minutes.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
from deltalake import write_deltalake

from benchmarks.dagster_queries import query_times
from benchmarks.dagster_rows import (
    copy_events,
    copy_run,
    count_events,
    date_run,
    newest_event,
    storage_bytes,
)
from benchmarks.postgres import Postgres
from lake_assets.defs.gold import run_tags as refresh_tags
from lake_assets.defs.keys import gold_key
from lake_assets.defs.metadata import refresh_metadata
from lake_assets.defs.purge import purge
from lake_assets.defs.streams import job as streams_job
from lake_assets.defs.told_columns import TableEvent, ToldColumns
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import (
    BatchReport,
    GoldRefreshed,
    Judged,
    Mode,
    Refreshed,
    RefreshReport,
    Stage,
    ViewRefresh,
)
from lake_assets.model.tables import bronze_of
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.run import StreamEvent, Tick

_COLUMNS = 14
"""Of a table, as many as the shipped games' have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Month:
    """What is simulated."""

    games: int = 100
    days: int = 30
    reports: int = 150
    """Of the streams, a day: 60,000 events of 100 games are one every ten minutes."""

    refreshes: int = 288
    keep_days: float = 7.0


def simulate(
    instance: dg.DagsterInstance, home: Path, settings: Settings, month: Month
) -> Iterator[Mapping[str, float]]:
    """Live through the month; yields each evening's figures."""
    feed = _feed(month.games)
    _write_tables(settings, feed)
    lake, began = lake_id(settings), datetime.now(UTC) - timedelta(days=month.days)
    # The first report of a run, and the first of a day, tell of columns, and others do not.
    ends: list[int] = []
    one_report = _stream(instance, settings, feed, ends.append)
    _refresh(instance, settings, feed, lake)
    one_refresh = _refresh(instance, settings, feed, lake)
    for day in range(1, month.days + 1):
        evening = began + timedelta(days=day)
        for _ in range(month.refreshes - 1):
            copy_run(instance, one_refresh, evening)

        def others(run_id: str) -> None:
            copy_events(instance, one_report, run_id, month.reports - 2, after=ends[0])

        streams = _stream(instance, settings, feed, lambda _: None, others)
        # Those that are copied stay young, whatever the simulated day.
        for run_id in (one_report, one_refresh, streams, _refresh(instance, settings, feed, lake)):
            date_run(instance, run_id, evening)
        at = time.perf_counter()
        before = evening - timedelta(days=month.keep_days)
        done = purge(instance, lake, before=before, goes_on=lambda: True)
        yield {
            "day": day,
            "events": count_events(instance),
            "purged_runs": done.runs,
            "purge_s": round(time.perf_counter() - at, 2),
            "gb": round(storage_bytes(instance, home) / 1e9, 3),
            **query_times(settings, instance, feed, lake),
        }


def _feed(games: int) -> Feed:
    """The shipped feed of games, with so many of them."""
    (shipped,) = (feed for feed in load_feeds(None) if feed.feed == "games")
    keys = tuple(f"game_{n}" for n in range(games))
    assert shipped.route  # noqa: S101 - it is the feed with many keys
    return shipped.model_copy(update={"route": shipped.route.model_copy(update={"keys": keys})})


def _keys(feed: Feed) -> tuple[str, ...]:
    return feed.route.keys if feed.route else ()


def _views(feed: Feed, *, live: bool) -> list[GoldView]:
    return [v for v in feed.gold if not v.is_over_all and (v.refresh is not None) == live]


def _write_tables(settings: Settings, feed: Feed) -> None:
    """A small table for each that is told of: what is told does not depend on its rows."""
    rows = pa.table({f"column_{n}": [n] for n in range(_COLUMNS)})
    per_key = [v for v in feed.gold if not v.is_over_all]
    tables = [bronze_of(feed.feed), *(feed.silver_table(key) for key in _keys(feed))]
    tables += [feed.gold_table(view, key) for view in per_key for key in _keys(feed)]
    for table in tables:
        write_deltalake(settings.lake_dir / table.relative, rows)


def _stream(
    instance: dg.DagsterInstance,
    settings: Settings,
    feed: Feed,
    told: Callable[[int], None],
    others: Callable[[str], None] = lambda _: None,
) -> str:
    """A run of the streams that reports all games twice; returns its id.

    Args:
        instance: where.
        settings: of the lake.
        feed: whose games.
        told: gets the id of the last event of the first report.
        others: stores what comes in between, for the run with this id.
    """
    names = [expectation.name for expectation in feed.expectations]

    def report() -> Iterator[StreamEvent]:
        yield BatchReport(
            feed=feed.feed,
            stage=Stage.DEMUX,
            batch_id=0,
            rows={feed.silver_table(key).name: 1000 for key in _keys(feed)},
            judged={(k, n): Judged(seen=1000, violated=0) for k in _keys(feed) for n in names},
        )
        reports = _refreshes(feed, live=True)
        yield GoldRefreshed(feed=feed.feed, refreshed=Refreshed(reports=reports))

    def stream(*_: object, owner: str, **__: object) -> Generator[StreamEvent, None, None]:
        yield from report()
        for _tables in range(0, len(_keys(feed)), 10):
            yield Tick()  # some tables are told of at a time
        told(newest_event(instance))
        others(owner)
        yield from report()

    every = settings.stream.model_copy(update={"report_every_s": 1e9})
    held = settings.model_copy(update={"stream": every})
    done = streams_job(held, [feed], stream).execute_in_process(instance=instance)
    return str(done.run_id)


def _refresh(instance: dg.DagsterInstance, settings: Settings, feed: Feed, lake: str) -> str:
    """A run that reports the scheduled views of all games, as that of their schedule does."""
    views = {view.name: view for view in feed.gold}

    @dg.op(out={})
    def report() -> Iterator[dg.AssetMaterialization]:
        for done in _refreshes(feed, live=False):
            asset = gold_key(settings, feed, views[done.refreshed[0].view])
            told = ToldColumns()
            told.look_up(instance, asset, _keys(feed), now=datetime.now(UTC))
            metadata = refresh_metadata(lake_of(settings), feed, done)
            yield from told.materializations(
                [
                    TableEvent(asset=asset, partition=key, metadata=metadata[key])
                    for key in _keys(feed)
                ]
            )

    @dg.job(tags=refresh_tags(lake), executor_def=dg.in_process_executor)
    def refresh() -> None:
        report()

    return str(refresh.execute_in_process(instance=instance).run_id)


def _refreshes(feed: Feed, *, live: bool) -> list[RefreshReport]:
    return [
        RefreshReport(
            refreshed=tuple(
                ViewRefresh(
                    key=key,
                    view=view.name,
                    rows=1000,
                    silver_version=1,
                    mode=Mode.INCREMENTAL,
                    why="silver gained 5 files since",
                    rows_read=1000,
                    rows_written=100,
                )
                for key in _keys(feed)
            ),
            up_to_date=(),
            seconds={"session": 0.1, "plan": 0.1, "job": 0.5, "commit": 0.2},
        )
        for view in _views(feed, live=live)
    ]


def _run(storage: str, month: Month) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dagster")))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        home = folder / "home"
        home.mkdir()
        configuration = ""
        if storage == "postgresql":
            url = stack.enter_context(Postgres(folder / "pg")).create("dagster")
            configuration = f"storage: {{postgres: {{postgres_url: '{url}'}}}}"
        (home / "dagster.yaml").write_text(configuration)
        settings = Settings(home=folder / "lake")
        instance = stack.enter_context(dg.DagsterInstance.from_config(str(home)))
        for figures in simulate(instance, home, settings, month):
            print(json.dumps({"storage": storage, **figures}), flush=True)  # noqa: T201


def main() -> None:
    """Simulate, and print a line of JSON a day."""
    usual, parser = Month(), argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storage", choices=("sqlite", "postgresql"), default="sqlite")
    for name in ("games", "days", "reports", "refreshes"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    parser.add_argument("--keep-days", type=float, default=usual.keep_days)
    asked = vars(parser.parse_args())
    _run(asked.pop("storage"), Month(**asked))


if __name__ == "__main__":
    main()
