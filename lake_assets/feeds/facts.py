"""What is wrong with a feed whose fields are right, told without Spark and without other feeds.

Where in its file that is, is `feeds.load`'s.
"""

from collections.abc import Iterator
from pathlib import Path

from lake_assets.errors import FeedError
from lake_assets.feeds.delta_facts import unread_table
from lake_assets.feeds.document import Loc
from lake_assets.feeds.files_facts import unnamed_schemas, unread_files
from lake_assets.feeds.functions import find_function, hidden_module
from lake_assets.feeds.kinesis_facts import unread_stream
from lake_assets.feeds.known_fields import suggest
from lake_assets.feeds.postgres_facts import unread_database
from lake_assets.feeds.sql_reach import unreachable
from lake_assets.model.cron import complaint
from lake_assets.model.ddl import Scalar
from lake_assets.model.feeds import Feed
from lake_assets.model.keyed_views import name_of_deletes
from lake_assets.model.routes import KEY_TYPES, Route
from lake_assets.model.validator_messages import fact_and_step


def facts_of(feed: Feed, folder: Path) -> Iterator[tuple[Loc, str]]:
    """What is wrong with a feed whose fields are right, each by itself."""
    yield from _bad_crons(feed)
    yield from _foreign_columns(feed)
    yield from foreign_route(feed)
    yield from _shared_templates(feed)
    yield from unhinted_partitions(feed)
    yield from _unusable_function(feed, folder)
    yield from unhidden_bodies(feed)
    yield from unread_files(feed)
    yield from unnamed_schemas(feed)
    yield from unread_table(feed)
    yield from unread_database(feed)
    yield from unread_stream(feed)
    yield from unreachable(feed)


def _bad_crons(feed: Feed) -> Iterator[tuple[Loc, str]]:
    if feed.schedule is not None and (fact := complaint(feed.schedule)) is not None:
        told, _ = fact_and_step(fact)
        yield ("run",), f"{told}\nuse a cron expression as '0 * * * *', or `manual`"
    brought = {name_of_deletes(view.name) for view in feed.gold if view.keyed}
    for index, view in enumerate(feed.gold):
        fact = complaint(view.schedule) if view.schedule is not None else None
        if fact is not None and view.name not in brought:
            yield ("gold", index, "schedule"), fact


def _shared_templates(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """Views whose tables would be called as silver's, whatever the key."""
    for view in feed.gold:
        if not view.is_over_all and feed.gold_table(view, "{key}").name == feed.tables.silver:
            fact = f"silver and gold view {view.name!r} both have tables {feed.tables.silver!r}"
            yield ("tables", "gold"), fact


def _foreign_columns(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """What gold's checks read and their views have not; silver's columns are known in Spark."""
    for index, view in enumerate(feed.gold):
        present = view.columns
        if present is None:
            continue  # only Spark knows
        for place, check in enumerate(view.checks):
            for column in check.columns:
                if column not in present:
                    fact = f"{column!r} is no column of the view{suggest(column, list(present))}"
                    yield ("gold", index, "checks", place, check.kind), fact


def foreign_route(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """A route by a column that the payload's declared schema has not, or that holds no keys.

    Columns that rows bring are none to route by: rows would decide what type the keys have. Those
    that are selected, or that a function gives, are known once these were tried
    (`silver.selecting_format`, `silver.transforming_format`).
    """
    if feed.payload.needs_registry or feed.payload.brings_schemas or feed.select or feed.transform:
        return
    if feed.route is not None:
        yield from _foreign_column(feed, feed.route, ("route",))
    for place, route in enumerate(feed.routes):
        yield from _foreign_column(feed, route, ("routes", place))


def _foreign_column(feed: Feed, route: Route, loc: Loc) -> Iterator[tuple[Loc, str]]:
    payload, path = feed.payload, route.column
    if path is None:
        return  # only Spark knows, or the source
    name = path.partition(".")[0]
    declared = {column.name: column.type for column in payload.declared_columns}
    if name not in declared:
        where = "hints" if payload.infers else "schema"
        fact = f"{name!r} is no column of the payload's {where}"
        yield (*loc, "column"), f"{fact}{suggest(name, list(declared))}"
        return
    if route.plain_column is None:
        return
    kind = declared[name]
    word = kind.name if isinstance(kind, Scalar) else type(kind).__name__.lower()
    if word not in KEY_TYPES:
        fact = f"{name!r} is of type {word}, which holds no keys"
        yield (*loc, "column"), f"{fact}\nuse one of {', '.join(KEY_TYPES)}"


def _unusable_function(feed: Feed, folder: Path) -> Iterator[tuple[Loc, str]]:
    """A function that is not there, or one of another module than the one beside the file."""
    name = feed.transform
    if name is None:
        return
    try:
        find_function(name)
    except FeedError as problem:
        yield ("transform",), f"{problem.thing}: {problem.fact}\n{problem.next_step}"
        return
    if other := hidden_module(name, folder):
        fact = f"{name} is that of {other}, which hides the module beside the feed"
        yield ("transform",), f"{fact}\ngive that one another name"


def unhinted_partitions(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """Partitions by columns whose type rows decide: they might get one that partitions nothing."""
    hinted = {column.name for column in feed.payload.declared_columns}
    computes = feed.select or feed.selects or feed.transform
    sources = dict.fromkeys(column.source for by in feed.partitions for column in by)
    for name in sources if feed.payload.infers and not computes else ():
        if name not in hinted:
            fact = f"{name!r} is no column of the payload's hints"
            yield ("partition_by",), f"{fact}{suggest(name, sorted(hinted))}"


def unhidden_bodies(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """Masks that would not find the names of values of bodies that fit no column."""
    body = feed.payload.wrapped
    if feed.mask and body is not None and body.prefix and body.rescues:
        fact = f"values of bodies that fit no column are in {body.prefix}_rescued as they came"
        yield ("mask",), f"{fact}\ngive json `on_mismatch: quarantine` and `on_unknown: ignore`"
