"""Changes of a feed's tables beside its streams: whose turn, where they are noted, how they end."""

from collections.abc import Iterable
from contextlib import suppress

from lake_assets.delta.change_journal import ChangeJournal
from lake_assets.delta.multi_table_change import finish
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.tables import quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.recovery import ensure_whole
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.store import Store
from lake_assets.streams.demux_loop import tables_of_silver

REDO_TURN = "redo"
"""What at most one process of a lake does at a time: changing tables beside the streams."""


def reprocess_journal(lake: Store, feed: Feed) -> ChangeJournal:
    """Where a feed's changes beside its streams are noted until they are whole.

    In the folder of the table whose commit makes them so: who has the one has the other. Delta
    passes over names that begin like this.
    """
    file = log_of(lake, quarantine_of(feed.feed)).folder / "_change.json"
    return ChangeJournal(lake, file, origin_of(feed))


def noted_texts(settings: Settings, lake: Store, feeds: Iterable[Feed]) -> str:
    """What all journals say: files that are named in them may yet be committed."""
    journals = sorted((settings.state_dir / "journals").glob("*.json"))
    texts = [journal.read_text(errors="replace") for journal in journals]
    for feed in feeds:
        change = reprocess_journal(lake, feed)
        with suppress(FileNotFoundError):
            texts.append(change.store.get(change.file).decode(errors="replace"))
    return "".join(texts)


def finish_change(journal: ChangeJournal, context: LakeContext, feed: Feed) -> None:
    """Finish what was cut off, and make sure that the feed's tables fit together then.

    Raises:
        StreamError: they are not those that the last change left.
        LakeError: the lake cannot be written, or the change cannot be finished.
    """
    finish(journal, context.committer)
    ensure_whole(feed.feed, context, tables_of_silver(context.lake, feed))
