"""A payload format with a feed's `select` and `mask` behind it: the driver's side.

To demux it is one more format, whose columns are what is selected. What an expression means is
found in `silver.selection`; `silver.selecting_decoder` computes.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession

from lake_assets.formats.base import Decoder, PayloadFormat
from lake_assets.formats.questions import (
    ExpressionQuestion,
    KeptTypesQuestion,
    Question,
    SelectedColumnsQuestion,
)
from lake_assets.model.feeds import Feed
from lake_assets.model.transforms import HAS_ELEMENTS
from lake_assets.silver.explosion import Explosion, has_other_types, rescued_of
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.selected_columns import (
    decoded_columns,
    ensure_routed,
    masks_of,
    merged_columns,
    selected,
    sources_of,
)
from lake_assets.silver.selected_renames import renames_of
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.silver.selection import Output, Selection, has_star, select, sure_only

_LOG = logging.getLogger(__name__)


Note: TypeAlias = Callable[[Sequence[Output], Mapping[str, Sequence[Output]]], None]
"""Is told of what is selected: of all columns, and by key that selects itself, of its own."""


def untold(outputs: Sequence[Output], by_key: Mapping[str, Sequence[Output]]) -> None:
    """A `Note` of which nothing is kept."""


@dataclass(frozen=True, slots=True)
class SelectedSchemas:
    """What is known of a feed's schemas."""

    inner: Any
    """The other format's."""

    is_spark_asked: bool = False
    """Whether values came of which Arrow is not sure; such come again."""

    selected: frozenset[str] = frozenset()
    """Columns of the tables that nothing but a `select` has ever made."""


@dataclass(frozen=True, slots=True)
class SelectingFormat:
    """A `formats.base.PayloadFormat` over another one."""

    session: SparkSession
    feed: Feed
    inner: PayloadFormat[Any]
    mask_key: bytes
    note: Note = untold
    rotates: bool = False

    _analyzed: dict[pa.Schema, Selection] = field(default_factory=dict)
    """By the decoded columns, what Spark last said of the items."""

    def newest(self) -> SelectedSchemas:
        """As the other format."""
        return SelectedSchemas(self.inner.newest())

    def check(self) -> None:
        """As the other format."""
        self.inner.check()

    def for_next_batch(self, schemas: SelectedSchemas, now: float) -> SelectedSchemas:
        """As the other format."""
        return _with(schemas, self.inner.for_next_batch(schemas.inner, now))

    def resolve(self, schemas: SelectedSchemas, questions: frozenset[Question]) -> SelectedSchemas:
        """With the other format's answers, and with Spark where Arrow was not sure."""
        own = self._split(schemas, questions)
        inner = self.inner.resolve(schemas.inner, own) if own else schemas.inner
        return _answered(schemas, inner, questions)

    def let_wait(self, schemas: SelectedSchemas, questions: frozenset[Question]) -> SelectedSchemas:
        """As `resolve`, where rows wait whose questions only the outside can answer."""
        own = self._split(schemas, questions)
        inner = self.inner.let_wait(schemas.inner, own) if own else schemas.inner
        return _answered(schemas, inner, questions)

    def plan(self, schemas: SelectedSchemas, have: pa.Schema, route: Sequence[str]) -> Decoder:
        """What is selected of the decoded columns, hidden as the feed says.

        Raises:
            FeedError: an expression or a mask does not go with the columns.
            LakeError: a column does not go with what the tables have.
        """
        first = self._outputs(schemas)
        before = decoded_columns(have, first, has_star=has_star(self._items))
        decoder = self.inner.plan(schemas.inner, before, sources_of(route, first))
        selection = self._selection(decoder, schemas)
        known = {one.name: one for one in (*decoder.columns, *decoder.unused)}
        made: list[pa.Field] = []
        unused: list[pa.Field] = []
        for one in selection.outputs:
            column = known[one.source].with_name(one.name) if one.source else None
            is_unused = one.source in decoder.unused.names
            (unused if is_unused else made).append(column or pa.field(one.name, one.kind))
        computed = {one.name for one in selection.outputs if one.source is None}
        columns = merged_columns(self.feed, have, made, computed)
        ensure_routed(self.feed, route, pa.schema([*columns, *unused]))
        self._tell(selection.outputs)
        told = pa.schema([*made, *unused])
        return SelectingDecoder(
            inner=decoder,
            outputs=selection.outputs,
            columns=columns,
            explosion=self._acting(selection.explosion),
            masks=self._masks(selection.outputs, told),
            unused=pa.schema(unused),
            renames=renames_of(
                decoder.renames,
                selection.outputs,
                pa.schema(list(known.values())),
                selection.explosion,
            ),
            by_spark_sql=selection.sql,
            by_spark_reads=frozenset(selection.reads),
        )

    @property
    def _items(self) -> tuple[str, ...]:
        return self.feed.select or ("*",)

    def _acting(self, explosion: Explosion | None) -> Explosion | None:
        """With what the feed says of values without elements."""
        if explosion is None:
            return None
        return replace(
            explosion,
            rescued=rescued_of(self.feed.payload),
            has_other_types=has_other_types(self.feed.payload),
            refuses_unfit=any(one.name == HAS_ELEMENTS.name for one in self.feed.expectations),
        )

    def _masks(self, outputs: Sequence[Output], columns: pa.Schema) -> Masks:
        return masks_of(self.feed, outputs, columns, self.mask_key)

    def made_by(self, schemas: SelectedSchemas, route: Sequence[str]) -> list[pa.Schema]:
        """The columns of each kind of row, as far as they are selected, and the computed ones."""
        outputs = self._outputs(schemas)
        kinds = self.inner.made_by(schemas.inner, sources_of(route, outputs))
        return [selected(kind, outputs) for kind in kinds]

    def computed(self, schemas: SelectedSchemas) -> frozenset[str]:
        """The columns that are not decoded ones under their own names."""
        return frozenset(one.name for one in self._outputs(schemas) if one.source != one.name)

    def _outputs(self, schemas: SelectedSchemas) -> tuple[Output, ...]:
        """What is selected, as far as it is known without the tables."""
        decoder = self.inner.plan(schemas.inner, pa.schema([]), ())
        return self._selection(decoder, schemas).outputs

    def _split(
        self, schemas: SelectedSchemas, questions: frozenset[Question]
    ) -> frozenset[Question]:
        """Those of the other format, by its own columns."""
        own = {one for one in questions if not isinstance(one, _OF_SELECTS)}
        kept = {one for one in own if isinstance(one, KeptTypesQuestion)}
        if kept:
            sources = {one.name: one.source for one in self._outputs(schemas)}
            names = (sources.get(name, name) for one in kept for name in one.columns)
            own = own - kept | {KeptTypesQuestion(tuple(name for name in names if name))}
        return frozenset(own)

    def _selection(self, decoder: Decoder, schemas: SelectedSchemas) -> Selection:
        """What is selected; Spark is asked once about the same columns."""
        columns = pa.schema([*decoder.columns, *decoder.unused]).remove_metadata()
        found = self._analyzed.get(columns)
        if found is None:
            renames = decoder.renames
            found = select(self.session, self.feed.feed, columns, self._items, renames)
            self._analyzed.clear()
            self._analyzed[columns] = found
        return sure_only(found) if schemas.is_spark_asked else found

    def _tell(self, outputs: Sequence[Output]) -> None:
        self.note(outputs, {})
        tell_by_spark(self.feed, [one.name for one in outputs if one.is_by_spark])


def tell_by_spark(feed: Feed, columns: Iterable[str]) -> None:
    """Log which columns, in words, rows travel through the JVM for; nothing if there are none."""
    words = ", ".join(columns)
    if words:
        text = "select of feed %r: Spark computes %s, for which rows travel through the JVM"
        _LOG.info(text, feed.feed, words, extra={"feed": feed.feed})


def hashing_key(payload_format: PayloadFormat[Any]) -> bytes:
    """What a format hashes columns with; empty if it hashes none."""
    if not isinstance(payload_format, SelectingFormat):
        return b""
    return payload_format.mask_key if payload_format.feed.hashes else b""


def rotates_key(payload_format: PayloadFormat[Any]) -> bool:
    """Whether tables may have hashes of another key, since all of them are made anew."""
    return isinstance(payload_format, SelectingFormat) and payload_format.rotates


def _with(schemas: SelectedSchemas, inner: Any) -> SelectedSchemas:  # noqa: ANN401 - the format's
    return schemas if inner is schemas.inner else replace(schemas, inner=inner)


def _answered(
    schemas: SelectedSchemas,
    inner: Any,  # noqa: ANN401 - the format's
    questions: frozenset[Question],
) -> SelectedSchemas:
    """With the answers to what is asked of selects themselves."""
    told = (one.columns for one in questions if isinstance(one, SelectedColumnsQuestion))
    return SelectedSchemas(
        inner=inner,
        is_spark_asked=schemas.is_spark_asked
        or any(isinstance(one, ExpressionQuestion) for one in questions),
        selected=schemas.selected.union(*told),
    )


_OF_SELECTS = (ExpressionQuestion, SelectedColumnsQuestion)
