"""The columns that a feed's tables will have, as far as they are known before any row came.

Declared schemas are asked nobody for; registered ones are asked of the registry, or else of what
is kept of its answers. What an expression gives is not known here: only its name is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from lake_assets.errors import FeedError, LakeError, RegistryError, SchemaUnusableError
from lake_assets.feeds.functions import find_function
from lake_assets.formats.base import PayloadFormat, Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.tombstones import TOMBSTONE, tombstone_columns
from lake_assets.model.transforms import ELEMENT, generators_in
from lake_assets.settings.schema import Settings
from lake_assets.silver.rows import silver_origin
from lake_assets.silver.transforming_format import TransformingFormat
from lake_assets.sources.files.written_schemas import written_schemas
from lake_assets.storage.open_store import lake_of
from lake_assets.validation.known_columns import UNKNOWN, Columns
from lake_assets.validation.select_items import names_selected


@dataclass(frozen=True, kw_only=True, slots=True)
class NotKnown:
    """Why a feed's columns could not be told."""

    why: str
    next_step: str
    is_wrong: bool = False
    """Whether no more than a correction of the feed or of its schema would help."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedColumns:
    """The columns of a feed at each stage."""

    decoded: Columns
    """What a value decodes to, and a function makes of it."""

    items: Columns
    """What items of `select` may read: also what one of them makes of each element of an array."""

    common: Columns
    """What `select` gave, before what keys select of it."""

    selected: Columns
    """What `select` makes of these; rows are routed and judged by them."""

    silver: Columns
    """What tables of silver have, of whichever key: also where a row came from."""

    schema: pa.Schema | None = None
    """The decoded ones as Spark gets them; None where they are not known."""

    unknown: NotKnown | None = None
    """Why they could not be told; None if they could."""


def columns_of(settings: Settings, endpoints: Endpoints | None, feed: Feed) -> FeedColumns:
    """What is known of a feed's columns.

    Args:
        settings: where the lake is, and what is kept of the registry's answers.
        endpoints: where the registry is; None if none runs.
        feed: whose.
    """
    schema, why = _decoded(settings, endpoints, feed)
    is_open = schema is None or (feed.payload.grows and feed.transform is None)
    decoded = UNKNOWN if schema is None else Columns.of(schema, is_open=is_open)
    common = _common(feed, decoded)
    selected = _selected(feed, common)
    return FeedColumns(
        decoded=decoded,
        items=_with_elements(feed, decoded),
        common=common,
        selected=selected,
        silver=selected.and_(*_of_tables(feed)),
        schema=schema,
        unknown=why,
    )


def _decoded(
    settings: Settings, endpoints: Endpoints | None, feed: Feed
) -> tuple[pa.Schema | None, NotKnown | None]:
    """The decoded columns, or why they are not known."""
    if feed.payload.infers and not feed.payload.own_columns:
        return None, None
    needs_registry = feed.payload.needs_registry
    surroundings = Surroundings(
        registry=endpoints.registry if endpoints else _NOBODY,
        registry_access=(endpoints or _NO_ENDPOINTS).registry_access,
        cache=settings.state_dir / "schemas",
        brought=partial(written_schemas, lake_of(settings), feed.feed),
    )
    try:
        found: PayloadFormat[Any] = format_of(feed, surroundings)
        if feed.transform is not None:
            found = TransformingFormat(feed, found, find_function(feed.transform))
        decoder = found.plan(found.newest(), pa.schema([]), ())
    except (RegistryError, LakeError) as problem:
        if needs_registry and endpoints is None:
            why = "no registry runs here, and nothing is kept of its answers"
            return None, NotKnown(why=why, next_step=_START)
        return None, NotKnown(
            why=f"{problem.thing} {problem.fact}",
            next_step=problem.next_step or _START,
            is_wrong=isinstance(problem, SchemaUnusableError),
        )
    except FeedError as problem:
        why = f"{problem.thing}: {problem.fact}"
        return None, NotKnown(why=why, next_step=problem.next_step, is_wrong=True)
    names = [*decoder.columns, *decoder.unused]
    if not names and feed.payload.brings_schemas:
        step = "Run this again once the feed has read a file"
        return None, NotKnown(why="no file has brought a schema yet", next_step=step)
    tombstone = [pa.field(TOMBSTONE, pa.bool_())] if tombstone_columns(feed.gold) else []
    return pa.schema([*names, *tombstone]).remove_metadata(), None


_START = "Start what is missing (`lake-assets services up`), and run this again"


_NOBODY = "http://127.0.0.1:9"
"""An address where nothing answers, so that only what is kept is asked."""

_NO_ENDPOINTS = Endpoints(kafka="", registry="")


def _with_elements(feed: Feed, decoded: Columns) -> Columns:
    made = generators_in(feed.select)
    if not made:
        return decoded
    names = names_selected(made, decoded)
    return Columns({**decoded.types, **names.types}, decoded.is_open or names.is_open)


def _common(feed: Feed, decoded: Columns) -> Columns:
    common = names_selected(feed.select, decoded)
    return common.and_(ELEMENT) if generators_in(feed.select) else common


def _selected(feed: Feed, common: Columns) -> Columns:
    """What rows have once all is selected, in the table of any key."""
    if not feed.selects:
        return common
    kinds = [names_selected(items, common) for items in feed.selects.values()]
    kinds += [common] if feed.has_other_keys else []
    merged: dict[str, pa.DataType | None] = {}
    for one in kinds:
        merged |= {name: kind for name, kind in one.types.items() if name not in merged}
    return Columns(merged, any(one.is_open for one in kinds))


def _of_tables(feed: Feed) -> Sequence[str]:
    """What tables have beside what rows bring."""
    return [*(one.name for one in silver_origin(origin_of(feed))), *feed.partition_days]
