"""Files that journals name: they were written for commits that may yet be made."""

from contextlib import suppress
from pathlib import Path

from lake_assets.model.feeds import Feed
from lake_assets.model.flows import flows_into
from lake_assets.storage.store import Store
from lake_assets.streams.noted_changes import reprocess_journal


def noted_in_journals(state_dir: Path, lake: Store, feed: Feed) -> str:
    """What all journals say of a feed's tables, for a look whether a file's name is in it.

    Raises:
        LakeError: the lake cannot be read.
        OSError: the state folder cannot be read.
    """
    journals = sorted((state_dir / "journals").glob("*.json"))
    texts = [journal.read_text(errors="replace") for journal in journals]
    for one in (feed, *flows_into(feed)):
        change = reprocess_journal(lake, one)
        with suppress(FileNotFoundError):
            texts.append(change.store.get(change.file).decode(errors="replace"))
    return "".join(texts)
