"""Copies of rows that nobody can look at from here: where they are, and what to do. Pure.

Told by what feeds declare and settings say: sinks, sources, catalogues, exports, backups elsewhere.
Addresses are told without logins and queries, which may be secrets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from lake_assets.model.feeds import Feed
from lake_assets.model.sinks import Sink
from lake_assets.model.sources import Source


@dataclass(frozen=True, slots=True)
class Copy:
    """A place outside the lake that may have a person's rows."""

    what: str
    """In words, with its address."""

    do: str
    """What to do about it."""


def copies_outside(
    feeds: Sequence[Feed], *, catalog: str | None = None, has_backups: bool = False
) -> list[Copy]:
    """What feeds and settings send or leave elsewhere.

    Args:
        feeds: all that are declared.
        catalog: kind of the catalogue that tables are registered in, if there is one.
        has_backups: whether backups are known of: those are scanned, copies of them are not.
    """
    found = [copy for feed in feeds for copy in (_of_source(feed), *_of_sinks(feed))]
    if catalog is not None:
        found.append(
            Copy(
                f"catalogue ({catalog})",
                "It is told names and columns, no values; statistics that engines computed there "
                "(ANALYZE TABLE) have the least and the greatest value: compute them anew",
            )
        )
    found += _of_people(has_backups=has_backups)
    return list(dict.fromkeys(found))


def _of_source(feed: Feed) -> Copy:
    source = feed.source
    return Copy(f"feed {feed.feed}: {_shown_source(source)}", _about(source))


def _shown_source(source: Source) -> str:
    return source.declared.title


def _about(source: Source) -> str:
    if source.kafka is not None:
        return (
            "The topic has the messages until its retention ends, or until they are compacted: "
            "produce a tombstone for a key, or delete records up to an offset (kafka-delete-records"
            "). Their rows are erased again if they are read again"
        )
    if source.files is not None:
        kept = source.files.archive
        archive = f", and in {kept}, where read ones are moved" if kept else ""
        return f"Delete or rewrite the files that have the person there{archive}"
    if source.kinesis is not None:
        return "The stream has the records until its retention ends: nothing deletes one before"
    if source.postgres is not None:
        return "Delete the person's rows in that table"
    return "Delete the person's rows in that table, and vacuum it"


def _of_sinks(feed: Feed) -> Iterator[Copy]:
    for sink in feed.sinks:
        yield Copy(f"feed {feed.feed}: sink {sink.name}, {_place_of(sink)}", _about_sink(sink))


def _place_of(sink: Sink) -> str:
    if sink.rest is not None:
        return f"the API at {without_secrets(sink.rest.url)}"
    if sink.sql is not None:
        return f"table {sink.sql.table} of {without_secrets(sink.sql.url)}"
    if sink.kafka is not None:
        return f"topic {sink.kafka.topic}"
    assert sink.python is not None  # noqa: S101 - a sink is of one kind
    return f"class {sink.python.class_name}"


def _about_sink(sink: Sink) -> str:
    if sink.sql is not None:
        if sink.deletes:
            return "Rows that leave the view are deleted there by the next refresh: make sure"
        return "Delete the person's rows there: what was sent is not taken back"
    if sink.kafka is not None:
        return "The topic has them until its retention ends; produce a tombstone for a key"
    return "Ask whoever has it to delete the person's rows: what was sent is not taken back"


def _of_people(*, has_backups: bool) -> Iterator[Copy]:
    yield Copy(
        "exports (`lake-assets export`), and results of queries that people kept",
        "Delete them, or make them anew: nothing is known of where they are",
    )
    if has_backups:
        yield Copy(
            "copies of backups, of disks (snapshots) and of buckets (old versions of objects)",
            "They go by their own retention. A backup that is restored is erased again by the "
            "ledger of its lake",
        )
    else:
        yield Copy(
            "backups in places that this state folder knows nothing of, snapshots of disks, old "
            "versions of objects in buckets",
            "They go by their own retention. A backup that is restored is erased again by the "
            "ledger of its lake",
        )


def without_secrets(address: str) -> str:
    """An address without login, query and fragment."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme else address.partition("?")[0]
