"""The rows of one feed as Spark analyses them: from a decoded value to silver, and its sinks."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lake_assets.errors import FeedError
from lake_assets.feeds.document import Loc
from lake_assets.model.expectations import Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.sinks import CHANGE
from lake_assets.model.transforms import ELEMENT, generators_in
from lake_assets.silver.computed_columns import kind_without_keys
from lake_assets.silver.expectation_marks import reading_of
from lake_assets.silver.layouts import table_columns
from lake_assets.silver.selection import no_rows, select
from lake_assets.spark.conditions import without_ansi
from lake_assets.validation.expressions_by_spark import item, single, told, with_texts
from lake_assets.validation.quick import Problem
from lake_assets.validation.run import Judged
from lake_assets.validation.sql_text import Kind
from lake_assets.validation.texts import Over, Text

Verdicts = Iterator[tuple[Loc, Problem | None]]
"""By place of a text, what is wrong with it; None if Spark takes it."""


@dataclass(slots=True)
class RowsOfFeed:
    """The rows of one feed at each stage; none where they are not known."""

    session: SparkSession
    judged: Judged
    selected: pa.Schema | None = None
    silver: DataFrame | None = None
    texts: Sequence[Text] = field(default=())

    def __post_init__(self) -> None:
        """Take its texts."""
        self.texts = tuple(self.judged.declared.texts())

    @property
    def feed(self) -> Feed:
        """Whose rows."""
        return self.judged.file.feed

    def rows(self) -> Verdicts:
        """Of what is of single rows, on their way to silver; ends where that is not known."""
        decoded = self.judged.known.own.schema
        if decoded is None or self.judged.known.own.decoded.is_open:
            return
        common = yield from self._common(decoded)
        if common is None:
            return
        yield from self._of_keys(common)
        if self.selected is None:
            return
        yield from self._of_selected(self.selected)
        origin = origin_of(self.feed)
        try:
            columns = table_columns(self.selected, origin, self.feed.layout_of("").partition_by)
        except FeedError as problem:
            yield ("partition_by",), told(("partition_by",), problem)
            return
        self.silver = no_rows(self.session, columns.remove_metadata())
        for text in self.texts:
            if text.loc[0] == "keyed":
                yield tuple(text.loc), single(self.silver, text)

    def _items(self, over: Over, columns: pa.Schema) -> dict[Loc, Problem | None]:
        items = [text for text in self.texts if text.over is over]
        return {tuple(one.loc): item(self.session, columns, one) for one in items}

    def _common(
        self, decoded: pa.Schema
    ) -> Generator[tuple[Loc, Problem | None], None, pa.Schema | None]:
        """Of the feed's select, which gives these columns; None where it is wrong."""
        # Where one makes rows of elements, the others read what it makes: only all can be asked.
        alone = not generators_in(self.feed.select)
        verdicts = self._items(Over.DECODED, decoded) if alone else {}
        yield from verdicts.items()
        if any(verdicts.values()):
            return None
        if not self.feed.select:
            return decoded
        try:
            return _selected(self.session, self.feed, decoded, self.feed.select)
        except FeedError as problem:
            yield ("select",), told(("select",), problem)
            return None

    def _of_keys(self, common: pa.Schema) -> Verdicts:
        """Of what keys select."""
        verdicts = self._items(Over.COMMON, common)
        yield from verdicts.items()
        if any(verdicts.values()):
            return
        try:
            self.selected = _of_all_keys(self.session, self.feed, common)
        except FeedError as problem:
            yield ("selects",), told(("selects",), problem)

    def _of_selected(self, columns: pa.Schema) -> Verdicts:
        """Of routes and conditions."""
        frame = no_rows(self.session, columns)
        for text in self.texts:
            if text.over is not Over.SELECTED:
                continue
            with without_ansi(self.session):
                verdict = single(frame, text)
            if verdict is None:
                is_condition = text.kind is Kind.CONDITION
                verdict = (self._condition if is_condition else self._route)(columns, text)
            yield tuple(text.loc), verdict

    def _condition(self, columns: pa.Schema, text: Text) -> Problem | None:
        """What of a condition is not one, though it compiles."""
        try:
            reading_of(self.session, columns, [Expectation(name="asked", sql=text.sql)])
        except FeedError as problem:
            return Problem(text.loc, problem.fact, problem.next_step)
        return None

    def _route(self, columns: pa.Schema, text: Text) -> Problem | None:
        """What of a route is none, though it compiles."""
        made_of = f"({text.sql}\n) as route"
        try:
            made = select(self.session, self.feed.feed, columns, [made_of])
        except FeedError as problem:
            return told(text.loc, problem)
        kind = kind_without_keys(made.outputs[0].kind)
        fact = f"is {kind}, which holds no keys"
        return Problem(text.loc, fact, "Make it text: cast(… as string)") if kind else None

    def of_sinks(self, views: Mapping[tuple[str, str], DataFrame]) -> Verdicts:
        """Of what sinks send."""
        for text in self.texts:
            if text.loc[0] != "sinks":
                continue
            frame = self.silver
            if text.over is Over.VIEW:
                key, frame = self.feed.view_key_column, views.get((self.feed.feed, text.view))
                frame = with_texts(frame, [CHANGE, *([key] if key else [])])
            if frame is None:
                continue
            with without_ansi(self.session):
                yield tuple(text.loc), single(frame, text)


def _selected(
    session: SparkSession, feed: Feed, columns: pa.Schema, items: Sequence[str]
) -> pa.Schema:
    """The columns that items make of others."""
    made = select(session, feed.feed, columns, items)
    found = pa.schema([pa.field(one.name, one.kind) for one in made.outputs])
    has_elements = made.explosion is not None and ELEMENT not in found.names
    return found.append(pa.field(ELEMENT, pa.int32())) if has_elements else found


def _of_all_keys(session: SparkSession, feed: Feed, common: pa.Schema) -> pa.Schema:
    """The columns of the tables of all keys."""
    if not feed.selects:
        return common
    found = list(common) if feed.has_other_keys else []
    for items in feed.selects.values():
        names = {one.name for one in found}
        made = _selected(session, feed, common, items)
        found += [one for one in made if one.name not in names]
    return pa.schema(found)
