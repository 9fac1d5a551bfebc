"""All that a feed says of columns: its texts of SQL and names, what each is, and over which rows.

Whether they are right is judged by `quick` and `by_spark`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lake_assets.feeds.document import Document, Loc
from lake_assets.model.checks import DatasetCheck
from lake_assets.model.exact_measures import split_exact
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.layouts import partition_columns
from lake_assets.model.sinks import Sink
from lake_assets.validation.sql_text import Kind


class Over(StrEnum):
    """Whose columns something names."""

    DECODED = "decoded"
    COMMON = "common"  # what `select` gave, before a key's own
    SELECTED = "selected"
    SILVER = "silver"
    VIEW = "view"
    SENT = "sent"  # by a sink without `select`: a field's name is its column's, case included


class Wanted(StrEnum):
    """Of which type a column must be."""

    ANY = "any"
    TIME = "timestamp"
    TEXT = "string"
    PARTITION = "partition"  # of few values that a table can be partitioned by


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text of SQL."""

    loc: Loc
    sql: str
    kind: Kind
    over: Over
    view: str = ""
    """Of `Over.VIEW`, and of what a view is made of."""

    skipped: int = 0
    """Characters of the value before the text: `exact `."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Name:
    """A name of a column."""

    loc: Loc
    name: str
    over: Over
    view: str = ""
    wanted: Wanted = Wanted.ANY


class Declared:
    """What a feed declares, with where it stands; what it implies is not there."""

    def __init__(self, feed: Feed, document: Document | None) -> None:
        """Nothing is read yet."""
        self.feed = feed
        self._data: Mapping[str, Any] = (
            document.data if document is not None and isinstance(document.data, dict) else {}
        )
        self._is_yaml = document is not None

    def texts(self) -> Iterator[Text]:
        """Each text, in the order in which rows get to them."""
        yield from self._of_rows()
        for place, view in self._named("gold", self.feed.gold):
            yield from self._of_view(("gold", place), view)
        for place, sink in self._named("sinks", self.feed.sinks):
            yield from _of_sink(("sinks", place), sink)

    def _of_rows(self) -> Iterator[Text]:
        feed = self.feed
        for place, item in enumerate(feed.select):
            yield Text(loc=("select", place), sql=item, kind=Kind.ITEM, over=Over.DECODED)
        for key, items in feed.selects.items():
            for place, item in enumerate(items):
                loc: Loc = ("selects", key, place)
                yield Text(loc=loc, sql=item, kind=Kind.ITEM, over=Over.COMMON)
        if feed.into is None:
            yield from self._routes()
        if feed.where is not None:
            yield Text(loc=("where",), sql=feed.where, kind=Kind.CONDITION, over=Over.SELECTED)
        for place, one in self._named("expectations", feed.expectations):
            loc = ("expectations", place, "sql")
            yield Text(loc=loc, sql=one.sql, kind=Kind.CONDITION, over=Over.SELECTED)
        if feed.keyed is not None:
            yield from _keyed_texts(("keyed",), feed.keyed)

    def names(self) -> Iterator[Name]:
        """Each name of a column."""
        feed = self.feed
        if feed.into is None:
            yield from _layout_names((), feed)
            yield from self._deduplicated()
            for key, layout in feed.layouts.items():
                yield from _layout_names(("layouts", key), layout)
        yield from _mask_names(("mask",), feed.mask)
        for key, mask in feed.masks.items():
            yield from _mask_names(("masks", key), mask)
        for place, check in self._named("checks", feed.checks):
            yield from _check_names(("checks", place), check, Over.SILVER, "")
        if feed.keyed is not None:
            yield from _keyed_names(("keyed",), feed.keyed)
        for place, view in self._named("gold", feed.gold):
            yield from self._names_of_view(("gold", place), view)
        for place, sink in self._named("sinks", feed.sinks):
            yield from _names_of_sink(("sinks", place), sink)

    def _deduplicated(self) -> Iterator[Name]:
        told = self.feed.deduplicate
        if told is None:
            return
        for place, name in enumerate(told.key):
            yield Name(loc=("deduplicate", "key", place), name=name, over=Over.SILVER)
        if told.time:
            at: Loc = ("deduplicate", "time")
            yield Name(loc=at, name=told.time, over=Over.SILVER, wanted=Wanted.TIME)

    def named_keys(self) -> Iterator[tuple[Loc, str]]:
        """Keys that something is of, and that the model has not compared with routes."""
        of_feed = (("expectations", self.feed.expectations), ("checks", self.feed.checks))
        for field, those in of_feed:
            for place, one in self._named(field, those):
                yield from self._keys_of((field, place), one.keys)
        for place, view in self._named("gold", self.feed.gold):
            for field, those in (("expectations", view.expectations), ("checks", view.checks)):
                for inner, one in enumerate(those):
                    yield from self._keys_of(("gold", place, field, inner), one.keys)

    def at(self, loc: Loc) -> Any:  # noqa: ANN401 - whatever is there
        """What the file has at a place; None if nothing."""
        found: Any = self._data
        for part in loc:
            if isinstance(found, dict):
                found = found.get(part)
            elif isinstance(found, list) and isinstance(part, int) and part < len(found):
                found = found[part]
            else:
                return None
        return found

    def _keys_of(self, loc: Loc, keys: Sequence[str] | None) -> Iterator[tuple[Loc, str]]:
        field = "games" if self.at((*loc, "games")) is not None else "keys"
        for place, key in enumerate(keys or ()):
            yield (*loc, field, place), key

    def _named(self, field: str, several: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Those of a field that are declared there, with their places."""
        if not self._is_yaml:
            yield from enumerate(several)
            return
        declared = self._data.get(field)
        by_name = {one.name: one for one in several}
        for place, one in enumerate(declared if isinstance(declared, list) else ()):
            name = one.get("name") if isinstance(one, dict) else None
            if name in by_name:
                yield place, by_name[name]

    def _routes(self) -> Iterator[Text]:
        for place, route in enumerate(self.feed.all_routes):
            loc: Loc = ("route",) if self.feed.route is not None else ("routes", place)
            if route.expression is not None:
                loc = (*loc, "column" if route.column else "sql")
                sql = route.column or route.expression
                yield Text(loc=loc, sql=sql, kind=Kind.VALUE, over=Over.SELECTED)
            elif route.plain_column is not None:
                sql = f"`{route.plain_column}`"
                yield Text(loc=(*loc, "column"), sql=sql, kind=Kind.VALUE, over=Over.SELECTED)

    def _of_view(self, loc: Loc, view: GoldView) -> Iterator[Text]:
        whose, of = view.name, loc
        if view.sql is not None:
            of = (*loc, "sql")
            yield Text(loc=of, sql=view.sql, kind=Kind.QUERY, over=Over.SILVER, view=whose)
        is_list = isinstance(self.at((*loc, "keys")), list)
        for place, (name, sql) in enumerate(view.key_expressions.items()):
            of = (*loc, "keys", place if is_list else name)
            yield Text(loc=of, sql=sql, kind=Kind.VALUE, over=Over.SILVER, view=whose)
        for name, sql in view.measures.items():
            bare, _ = split_exact(sql)
            yield Text(
                loc=(*loc, "measures", name),
                sql=bare,
                kind=Kind.AGGREGATE,
                over=Over.SILVER,
                view=whose,
                skipped=len(sql) - len(bare),
            )
        if view.keyed is not None:
            yield from _keyed_texts((*loc, "keyed"), view.keyed)
        for place, one in enumerate(view.expectations):
            at: Loc = (*loc, "expectations", place, "sql")
            yield Text(loc=at, sql=one.sql, kind=Kind.CONDITION, over=Over.VIEW, view=whose)

    def _names_of_view(self, loc: Loc, view: GoldView) -> Iterator[Name]:
        if view.windows is not None:
            at: Loc = (*loc, "windows", "time")
            time = view.windows.time
            yield Name(loc=at, name=time, over=Over.SILVER, wanted=Wanted.TIME)
        if view.keyed is not None:
            yield from _keyed_names((*loc, "keyed"), view.keyed)
        if view.columns is None:  # else `feeds.facts` has compared them
            for place, check in enumerate(view.checks):
                yield from _check_names((*loc, "checks", place), check, Over.VIEW, view.name)


def _of_sink(loc: Loc, sink: Sink) -> Iterator[Text]:
    over = Over.VIEW if sink.view else Over.SILVER
    if sink.where is not None:
        at: Loc = (*loc, "where")
        yield Text(loc=at, sql=sink.where, kind=Kind.CONDITION, over=over, view=sink.view or "")
    for name, sql in (sink.select or {}).items():
        at = (*loc, "select", name)
        yield Text(loc=at, sql=sql, kind=Kind.VALUE, over=over, view=sink.view or "")


def _names_of_sink(loc: Loc, sink: Sink) -> Iterator[Name]:
    view = sink.view or ""
    for place, name in enumerate(sink.key):
        yield Name(loc=(*loc, "key", place), name=name, over=Over.VIEW, view=view)
    if sink.select is not None:
        return  # its fields are named there, and the model has compared them
    if sink.kafka is not None and sink.kafka.key is not None:
        yield Name(loc=(*loc, "kafka", "key"), name=sink.kafka.key, over=Over.SENT, view=view)
    if sink.sql is not None:
        for place, name in enumerate(sink.sql.key):
            yield Name(loc=(*loc, "sql", "key", place), name=name, over=Over.SENT, view=view)
        if sink.sql.version is not None:
            at: Loc = (*loc, "sql", "version")
            yield Name(loc=at, name=sink.sql.version, over=Over.SENT, view=view)


def _keyed_texts(loc: Loc, keyed: Any) -> Iterator[Text]:  # noqa: ANN401 - `model.keyed.Keyed`
    for place, sql in enumerate(keyed.order):
        yield Text(loc=(*loc, "order", place), sql=sql, kind=Kind.VALUE, over=Over.SILVER)
    for field in ("deletes", "truncates"):
        if (sql := getattr(keyed, field)) is not None:
            yield Text(loc=(*loc, field), sql=sql, kind=Kind.CONDITION, over=Over.SILVER)


def _keyed_names(loc: Loc, keyed: Any) -> Iterator[Name]:  # noqa: ANN401 - as above
    for field in ("by", "except_columns"):
        for place, name in enumerate(getattr(keyed, field)):
            yield Name(loc=(*loc, field, place), name=name, over=Over.SILVER)


def _mask_names(loc: Loc, mask: Mapping[str, Any]) -> Iterator[Name]:
    for name in mask:
        yield Name(loc=(*loc, name), name=name, over=Over.SELECTED, wanted=Wanted.TEXT)


def _layout_names(loc: Loc, layout: Any) -> Iterator[Name]:  # noqa: ANN401 - of a feed or a key
    for column in partition_columns(layout.partition_by or {}):
        of = (*loc, "partition_by", column.name)
        wanted = Wanted.TIME if column.is_day else Wanted.PARTITION
        yield Name(loc=of, name=column.source, over=Over.SELECTED, wanted=wanted)
    for field in ("cluster_by", "bloom_filters"):
        for place, name in enumerate(getattr(layout, field) or ()):
            yield Name(loc=(*loc, field, place), name=name, over=Over.SILVER)
    if layout.retention is not None and layout.retention.column:
        at = (*loc, "retention", "column")
        column_of_age = layout.retention.column
        yield Name(loc=at, name=column_of_age, over=Over.SILVER, wanted=Wanted.TIME)


def _check_names(loc: Loc, check: DatasetCheck, over: Over, view: str) -> Iterator[Name]:
    if check.unique is not None:
        for place, name in enumerate(check.unique):
            yield Name(loc=(*loc, "unique", place), name=name, over=over, view=view)
    if check.freshness is not None:
        at: Loc = (*loc, "freshness", "column")
        column = check.freshness.column
        yield Name(loc=at, name=column, over=over, view=view, wanted=Wanted.TIME)
    equals = getattr(check, "equals_source", None)
    if equals:
        yield Name(loc=(*loc, "equals_source"), name=equals, over=over, view=view)
