"""A payload format with a feed's `select` and `mask` behind it: the driver's side.

To demux it is one more format, whose columns are what is selected. What an expression means is
found in `silver.selection`; `silver.selecting_decoder` computes.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import FeedError, LakeError
from lake_assets.formats.base import (
    Decoder,
    ExpressionQuestion,
    KeptTypesQuestion,
    PayloadFormat,
    Question,
)
from lake_assets.formats.schema_merge import Mismatch, in_words, merge
from lake_assets.model.feeds import Feed
from lake_assets.model.routes import KEY_TYPES
from lake_assets.model.transforms import Mask
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.silver.selection import Output, Selection, has_star, select, sure_only

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SelectedSchemas:
    """What is known of a feed's schemas."""

    inner: Any
    """The other format's."""

    is_spark_asked: bool = False
    """Whether values came of which Arrow is not sure; such come again."""


def with_select(
    session: SparkSession, feed: Feed, inner: PayloadFormat[Any], mask_key: bytes
) -> PayloadFormat[Any]:
    """The format of a feed's values, with what it selects and hides, if it does.

    Args:
        session: which resolves the expressions.
        feed: whose.
        inner: what decodes.
        mask_key: of `mask: hash`; empty if there is none.

    Raises:
        FeedError: texts are to be hashed without a key.
    """
    if not feed.select and not feed.mask:
        return inner
    if Mask.HASH in feed.mask.values() and not mask_key:
        fact = "hashes texts, and there is no key for it"
        step = "Set LAKE_ASSETS_MASKING_KEY to a secret of your own, and keep it: with another key "
        raise FeedError(f"mask of feed {feed.feed!r}", fact, f"{step}equal texts differ")
    return SelectingFormat(session, feed, inner, mask_key)


@dataclass(frozen=True, slots=True)
class SelectingFormat:
    """A `formats.base.PayloadFormat` over another one."""

    session: SparkSession
    feed: Feed
    inner: PayloadFormat[Any]
    mask_key: bytes

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
        own, asked = self._split(schemas, questions), schemas.is_spark_asked
        inner = self.inner.resolve(schemas.inner, own) if own else schemas.inner
        return SelectedSchemas(inner, asked or _asks_spark(questions))

    def let_wait(self, schemas: SelectedSchemas, questions: frozenset[Question]) -> SelectedSchemas:
        """As `resolve`, where rows wait whose questions only the outside can answer."""
        own, asked = self._split(schemas, questions), schemas.is_spark_asked
        inner = self.inner.let_wait(schemas.inner, own) if own else schemas.inner
        return SelectedSchemas(inner, asked or _asks_spark(questions))

    def plan(self, schemas: SelectedSchemas, have: pa.Schema, route: Sequence[str]) -> Decoder:
        """What is selected of the decoded columns, hidden as the feed says.

        Raises:
            FeedError: an expression or a mask does not go with the columns.
            LakeError: a column does not go with what the tables have.
        """
        first = self._outputs(schemas)
        before = decoded_columns(have, first, has_star=has_star(self._items))
        decoder = self.inner.plan(schemas.inner, before, _sources(route, first))
        selection = self._selection(decoder, schemas)
        known = {one.name: one for one in (*decoder.columns, *decoder.unused)}
        made: list[pa.Field] = []
        unused: list[pa.Field] = []
        for one in selection.outputs:
            column = known[one.source].with_name(one.name) if one.source else None
            is_unused = one.source in decoder.unused.names
            (unused if is_unused else made).append(column or pa.field(one.name, one.kind))
        computed = {one.name for one in selection.outputs if one.source is None}
        columns = self._merged(have, made, computed)
        self._ensure_there(route, pa.schema([*columns, *unused]))
        self._tell(selection.outputs)
        return SelectingDecoder(
            inner=decoder,
            outputs=selection.outputs,
            columns=columns,
            masks=self._masks(selection.outputs, pa.schema([*made, *unused])),
            unused=pa.schema(unused),
            renames=_renames(decoder.renames, selection.outputs),
            by_spark_sql=selection.sql,
            by_spark_reads=frozenset(selection.reads),
        )

    @property
    def _items(self) -> tuple[str, ...]:
        return self.feed.select or ("*",)

    def made_by(self, schemas: SelectedSchemas, route: Sequence[str]) -> list[pa.Schema]:
        """The columns of each kind of row, as far as they are selected, and the computed ones."""
        outputs = self._outputs(schemas)
        kinds = self.inner.made_by(schemas.inner, _sources(route, outputs))
        return [_selected(kind, outputs) for kind in kinds]

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
        own = {one for one in questions if not isinstance(one, ExpressionQuestion)}
        kept = {one for one in own if isinstance(one, KeptTypesQuestion)}
        if kept:
            sources = {one.name: one.source for one in self._outputs(schemas)}
            names = (sources.get(name, name) for one in kept for name in one.columns)
            own = own - kept | {KeptTypesQuestion(tuple(name for name in names if name))}
        return frozenset(own)

    def _merged(self, have: pa.Schema, made: Sequence[pa.Field], computed: set[str]) -> pa.Schema:
        """Columns that hold the tables' rows and new ones.

        Decoded ones get wider as their format lets them, computed ones only where the values stay.
        """
        of_computed = pa.schema([one for one in made if one.name in computed])
        before = pa.schema([one for one in have if one.name in computed])
        widens = self.feed.payload
        merged = merge(before, of_computed)
        if not isinstance(merged, Mismatch):
            promotes = widens.promotes
            merged = merge(have, pa.schema(made), rounds=widens.infers, promotes=promotes)
        if isinstance(merged, Mismatch):
            raise LakeError(
                f"silver of feed {self.feed.feed!r}",
                f"column {merged.path} is {merged.have}, and selected as {merged.came}",
                "Cast it to what it is or give it another name, or rebuild silver without it",
            )
        return merged

    def _selection(self, decoder: Decoder, schemas: SelectedSchemas) -> Selection:
        columns = pa.schema([*decoder.columns, *decoder.unused])
        found = select(self.session, self.feed.feed, columns, self._items)
        return sure_only(found) if schemas.is_spark_asked else found

    def _tell(self, outputs: Sequence[Output]) -> None:
        by_spark = [one.name for one in outputs if one.is_by_spark]
        if by_spark:
            text = "select of feed %r: Spark computes %s, for which rows travel through the JVM"
            _LOG.info(text, self.feed.feed, ", ".join(by_spark), extra={"feed": self.feed.feed})

    def _ensure_there(self, route: Sequence[str], columns: pa.Schema) -> None:
        missing = [name for name in route if name not in columns.names]
        if missing and not self.feed.payload.grows:
            fact = f"leaves out {missing[0]}, which says where a row goes"
            raise FeedError(f"select of feed {self.feed.feed!r}", fact, "Select it, too")
        for name in (name for name in route if name in columns.names):
            kind = in_words(columns.field(name).type)
            if kind not in {*KEY_TYPES, "binary"}:  # bytes of protobuf are read as text
                fact = f"makes {name} {kind}, which holds no keys"
                step = f"Make it text: `cast(… as string) as {name}`"
                raise FeedError(f"select of feed {self.feed.feed!r}", fact, step)

    def _masks(self, outputs: Sequence[Output], columns: pa.Schema) -> Masks:
        by_name = {one.name: one for one in outputs}
        for name in self.feed.mask:
            thing = f"mask of feed {self.feed.feed!r}"
            if name not in columns.names:
                if self.feed.payload.grows:
                    continue  # once a value brings it along, it is hidden
                fact = f"names {name}, which is no column of silver"
                raise FeedError(thing, fact, f"It has {', '.join(columns.names)}")
            kind = columns.field(name).type
            if not pa.types.is_string(kind):
                fact = f"names {name}, which is {in_words(kind)} and no text"
                raise FeedError(
                    thing, fact, f"Select it as text: `cast({name} as string) as {name}`"
                )
        there = {name: mask for name, mask in self.feed.mask.items() if name in columns.names}
        return Masks(
            by_column=there,
            hidden_names={
                name: frozenset({name, *(by_name[name].reads if name in by_name else ())})
                for name in self.feed.mask
            },
            key=self.mask_key,
        )


def decoded_columns(have: pa.Schema, outputs: Sequence[Output], *, has_star: bool) -> pa.Schema:
    """The decoded columns that tables have, by their selected ones.

    Args:
        have: the selected columns.
        outputs: what is selected, as far as it is known without the tables.
        has_star: whether all decoded columns are, under their names; further ones are such then.
    """
    sources = {one.name: one.source for one in outputs}
    found: dict[str, pa.Field] = {}
    for column in have:
        source = sources.get(column.name, column.name if has_star else None)
        if source is not None:
            found.setdefault(source, column.with_name(source))
    return pa.schema(list(found.values()))


def _with(schemas: SelectedSchemas, inner: Any) -> SelectedSchemas:  # noqa: ANN401 - the format's
    return schemas if inner is schemas.inner else replace(schemas, inner=inner)


def _asks_spark(questions: frozenset[Question]) -> bool:
    return any(isinstance(one, ExpressionQuestion) for one in questions)


def _sources(route: Sequence[str], outputs: Sequence[Output]) -> list[str]:
    """The decoded columns that the route's are; one that is computed may be of any message."""
    by_name = {one.name: one.source for one in outputs}
    return [source for name in route if (source := by_name.get(name)) is not None]


def _selected(kind: pa.Schema, outputs: Sequence[Output]) -> pa.Schema:
    fields = []
    for one in outputs:
        if one.source is None:
            fields.append(pa.field(one.name, one.kind))
        elif one.source in kind.names:
            fields.append(kind.field(one.source).with_name(one.name))
    return pa.schema(fields)


def _renames(renames: Renames, outputs: Sequence[Output]) -> Renames:
    """Older names of the columns that are selected under their own, and of fields within any."""
    own = {one.name for one in outputs if one.source == one.name}
    others = {one.name for one in outputs} - own  # no older name of anything
    return Renames(
        now={old: new for old, new in renames.now.items() if new in own and old not in others},
        within={
            one.name: renames.within[one.source]
            for one in outputs
            if one.source is not None and one.source in renames.within
        },
    )
