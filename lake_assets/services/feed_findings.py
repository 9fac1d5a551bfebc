"""The doctor's look at what the lake has of its feeds: layouts, schedules, selects."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from deltalake.exceptions import DeltaError

from lake_assets.errors import FeedError, LakeError, first_line
from lake_assets.feeds.load import load_feeds
from lake_assets.logs.schema_log import entries_of
from lake_assets.model.cron import next_tick_in_words
from lake_assets.model.feeds import Feed
from lake_assets.services.finding import Finding, Health
from lake_assets.settings.schema import Settings
from lake_assets.silver.layouts import RELAYOUT_STEP, misfits_in
from lake_assets.state.run_notes import run_note_of
from lake_assets.state.select_notes import SelectNote, read_select
from lake_assets.storage.open_store import lake_of


def look_at_feeds(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    try:
        feeds = load_feeds(settings.feeds)
    except FeedError:
        return
    yield from _layouts(settings, feeds)
    yield from _runs(settings, feeds)
    yield from _selects(settings, feeds)
    yield from _renamed(settings, feeds)


def _renamed(settings: Settings, feeds: Sequence[Feed]) -> Iterator[Finding]:
    """Which fields of several subjects have columns of other names, as the lake noted them."""
    for feed in feeds:
        parts = [one for one in (feed.payload, feed.payload.wrapped) if one is not None]
        if all(one.subjects is None for one in parts):
            continue
        thing = f"columns of feed {feed.feed!r}"
        try:
            entries = entries_of(lake_of(settings), feed.feed)
        except (LakeError, DeltaError) as problem:
            fix = "Check the folder and the disk"
            yield Finding(thing=thing, health=Health.BROKEN, fact=first_line(problem), fix=fix)
            continue
        now = {(one.key, one.column): one for one in entries if one.key is not None}
        told = {
            f"{one.column} of subject {one.reason.subject} ({one.note})": None
            for one in now.values()
            if one.type is not None and one.note
        }
        if told:
            yield Finding(thing=thing, health=Health.OK, fact="; ".join(told))


def _selects(settings: Settings, feeds: Sequence[Feed]) -> Iterator[Finding]:
    """Which columns Spark computes, as the streams noted it."""
    for feed in feeds:
        if not feed.select and not feed.selects:
            continue
        thing, note = (
            f"select of feed {feed.feed!r}",
            read_select(settings.state_dir, feed.feed, feed.select, feed.selects),
        )
        if note is None:
            fact = "where it is computed is not known yet: the streams note it when they start"
            yield Finding(thing=thing, health=Health.LATER, fact=fact, fix="lake-assets stream")
            continue
        told = "; ".join(_by_spark(note))
        fact = f"Spark computes {told}" if told else "tasks compute all of it"
        fix = "It is right as it is, and slower than what tasks compute" if told else ""
        yield Finding(thing=thing, health=Health.OK, fact=fact, fix=fix)


def _by_spark(note: SelectNote) -> dict[str, None]:
    """In words, each column that Spark computes, and of which keys where these have their own."""
    of_keys: dict[tuple[str, str], list[str]] = {}
    for key, columns in (note.by_key or {"": note.columns}).items():
        for name, one in columns.items():
            if one.spark_part:
                of_keys.setdefault((name, one.spark_part), []).append(key)
    found: dict[str, None] = {}
    for (name, part), keys in of_keys.items():
        whose = "" if "" in keys else f" of {', '.join(keys)}"
        found[f"{name}{whose}, for {part}"] = None
    return found


def _layouts(settings: Settings, feeds: Sequence[Feed]) -> Iterator[Finding]:
    """Whether silver is laid out as its feeds say; nothing is said where nobody says anything."""
    for feed in feeds:
        thing = f"layout of feed {feed.feed!r}"
        try:
            wrong = misfits_in(lake_of(settings), feed)
        except (LakeError, DeltaError) as problem:
            fix = "Check the folder and the disk"
            yield Finding(thing=thing, health=Health.BROKEN, fact=first_line(problem), fix=fix)
            continue
        for table, fact in wrong.items():
            told = f"{table.name} {fact}"
            yield Finding(thing=thing, health=Health.BROKEN, fact=told, fix=RELAYOUT_STEP)
        if not wrong and feed.is_partitioned:
            yield Finding(thing=thing, health=Health.OK, fact="its tables are as it says")


def _runs(settings: Settings, feeds: Sequence[Feed]) -> Iterator[Finding]:
    """How the runs of feeds are that have a schedule."""
    now = datetime.now(UTC)
    for feed in feeds:
        if not feed.is_triggered:
            continue
        thing, note = f"feed {feed.feed!r}", run_note_of(settings.state_dir, feed.feed)
        told = "runs when asked"
        if feed.schedule is not None:
            told = f"runs next {next_tick_in_words(feed.schedule, now)}"
        if note.failed_at is not None:
            fact = f"{told}; the last run, of {_utc(note.failed_at)}, failed: {note.why}"
            fix = f"lake-assets stream --feed {feed.feed} --until-caught-up"
            yield Finding(thing=thing, health=Health.BROKEN, fact=fact, fix=fix)
            continue
        until = f"has all of {_utc(note.complete_at)}" if note.complete_at else "never ran"
        yield Finding(thing=thing, health=Health.OK, fact=f"{told}; {until}")


def _utc(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
