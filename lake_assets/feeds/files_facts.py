"""What a feed of files declares beside them that files have not, or that does not go with them."""

from collections.abc import Iterator

from lake_assets.feeds.document import Loc
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FileFormat
from lake_assets.model.payload import Payload
from lake_assets.model.retention import Reset
from lake_assets.model.tombstones import tombstone_columns

_PAYLOADS = {
    "jsonl": {"json"},
    "json": {"json"},
    "csv": {"csv"},
    "avro": {"avro"},
    "parquet": {"json"},
    "protobuf": {"protobuf"},
    "framed": {"protobuf", "avro", "json"},
}
"""By format of files, what may be in a row of one."""


def unread_files(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """What of a feed does not go with its files; nothing of one that reads none."""
    files, payload = feed.source.files, feed.payload
    if files is None:
        return
    yield from _unread_values(files.format, payload)
    if payload.wrapped is not None:
        yield ("payload", "wrapped"), "rows of files wrap no message"
    yield from unread_routes(feed, "files")
    if tombstone_columns(feed.gold):
        yield ("gold",), "tombstones: a row of a file has no key that says what it deletes"
    if files.delete and feed.reset is Reset.ALLOWED:
        fact = "with `delete`, files are gone that `rebuild bronze` would read again"
        yield ("reset",), fact


def _unread_values(kind: FileFormat, payload: Payload) -> Iterator[tuple[Loc, str]]:
    """Payloads that are not what is in a row of such files."""
    wanted, is_framed = _PAYLOADS[kind], kind == "framed"
    loc: Loc = ("payload", payload.format)
    if payload.format not in wanted:
        named = " or ".join(f"`{one}`" for one in sorted(wanted))
        yield ("payload",), f"files of format {kind} go with {named}, not with `{payload.format}`"
    elif is_framed and not payload.needs_registry:
        yield loc, "values of framed files name a registered schema\ngive `subject`, or `subjects`"
    elif payload.needs_registry and payload.protobuf is None and not is_framed:
        instead = "give `schema`, or `infer: true`"
        if payload.avro is not None:
            instead = "write `avro: {}`, since each file has its own"
        fact = f"rows of files of {kind} name no registered schema\n{instead}"
        yield loc, f"{fact}, or read files of format framed"


def unnamed_schemas(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """Rows that are in no files, and of which nobody says under which subject schemas are."""
    body = feed.payload.wrapped
    fact = "\ngive `subject`, or `subjects` if there are several"
    if feed.payload.brings_schemas and feed.source.files is None:
        yield ("payload", feed.payload.format), fact
    if body is not None and body.brings_schemas:
        yield ("payload", "wrapped", body.format), fact


def unread_routes(feed: Feed, system: str) -> Iterator[tuple[Loc, str]]:
    """Routes by what only topics have."""
    for place, route in enumerate(feed.all_routes):
        loc: Loc = ("route",) if feed.route is not None else ("routes", place)
        if route.header is not None or route.topic:
            yield loc, f"rows of {system} have no {'header' if route.header else 'topic'}"


def unread_payload(feed: Feed, rows: str) -> Iterator[tuple[Loc, str]]:
    """A payload that does not go with rows that are JSON in bronze, whatever they are from."""
    payload = feed.payload
    if payload.format != "json":
        yield ("payload",), f"{rows} go with `json`, not with `{payload.format}`"
    elif payload.needs_registry:
        fact = f"{rows} name no registered schema\ngive `schema`, or `infer: true`"
        yield ("payload", payload.format), fact
    if payload.wrapped is not None:
        yield ("payload", "wrapped"), f"{rows} are JSON, and wrap no message"
