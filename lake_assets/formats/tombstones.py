"""A payload format that reads rows without a value by their key: tombstones of compacted topics.

The key names columns of a keyed table's `by`, in JSON or text (`text_keys`) or framed
(`framed_keys`). What no key says is refused as before. Values are the other format's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import FeedError
from lake_assets.formats.base import Decoded, Decoder, PayloadFormat
from lake_assets.formats.csv.columns import column_of
from lake_assets.formats.framed_keys import (
    FramedKeys,
    KeyDecoder,
    ReadKey,
    is_framed,
    is_plain,
)
from lake_assets.formats.questions import Question, RowKeyQuestion
from lake_assets.formats.text_keys import as_text, texts_of
from lake_assets.model.quarantine import Reason
from lake_assets.model.tombstones import ROW_KEY, TOMBSTONE

_MARK = pa.field(TOMBSTONE, pa.bool_())

_READABLE = (
    pa.types.is_string,
    pa.types.is_signed_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_timestamp,
    pa.types.is_date,
)


@dataclass(frozen=True, slots=True)
class TombstoneFormat:
    """A `formats.base.PayloadFormat` over another one."""

    feed: str
    by: tuple[str, ...]
    inner: PayloadFormat[Any]

    keys: FramedKeys | None = None

    def newest(self) -> Any:  # noqa: ANN401 - the other format's
        """As the other format; of keys nothing is asked before one is met."""
        return self.inner.newest()

    def check(self) -> None:
        """As the other format."""
        self.inner.check()

    def for_next_batch(self, schemas: Any, now: float) -> Any:  # noqa: ANN401
        """As the other format, and so of keys."""
        after = self.inner.for_next_batch(schemas, now)
        return after if self.keys is None else self.keys.for_next_batch(schemas, after, now)

    def resolve(self, schemas: Any, questions: frozenset[Question]) -> Any:  # noqa: ANN401
        """As the other format, and so of keys."""
        asked, rest = _split(questions)
        after = self.inner.resolve(schemas, rest) if rest else schemas
        return after if self.keys is None else self.keys.resolve(schemas, after, asked)

    def let_wait(self, schemas: Any, questions: frozenset[Question]) -> Any:  # noqa: ANN401
        """As the other format, and so of keys."""
        asked, rest = _split(questions)
        after = self.inner.let_wait(schemas, rest) if rest else schemas
        return after if self.keys is None else self.keys.let_wait(schemas, after, asked)

    def plan(self, schemas: Any, have: pa.Schema, route: Sequence[str]) -> "TombstoneDecoder":  # noqa: ANN401
        """The other format's columns, and the mark.

        Raises:
            FeedError: `by` has a column that values have not, or of a type that keys cannot have.
            LakeError: as the other format.
        """
        before = pa.schema([one for one in have if one.name != TOMBSTONE])
        inner = self.inner.plan(schemas, before, route)
        known = pa.schema([*inner.columns, *inner.unused])
        if TOMBSTONE in known.names:
            self._refuse(f"mark rows in {TOMBSTONE}, which is a column of its values", known)
        for name in self.by:
            if name not in known.names:
                self._refuse(f"name {name}, which is no column of its values", known)
            if not any(is_it(known.field(name).type) for is_it in _READABLE):
                self._refuse(f"name {name}, which is {known.field(name).type}", known)
        of_keys = None if self.keys is None else self.keys.plan(schemas)
        return TombstoneDecoder(inner=inner, by=self.by, keys=of_keys)

    def made_by(self, schemas: Any, route: Sequence[str]) -> list[pa.Schema]:  # noqa: ANN401
        """As the other format, each with the mark and the columns of a key."""
        return [one.append(_MARK) for one in self.inner.made_by(schemas, route)]

    def _refuse(self, fact: str, known: pa.Schema) -> None:
        raise FeedError(
            f"tombstones of feed {self.feed!r}",
            fact,
            f"Take columns that are decoded, such as {', '.join(known.names)}, as they are",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    """What a key tells: the values of `by` as text, or why not."""

    texts: list[str] | None = None
    fact: str = ""
    reason: str = Reason.EMPTY_VALUE.value
    question: Question | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TombstoneDecoder:
    """A `formats.base.Decoder`."""

    inner: Decoder
    by: tuple[str, ...]
    keys: KeyDecoder | None = None

    @property
    def columns(self) -> pa.Schema:
        """Those of values, those of keys that no value has used yet, and the mark."""
        more = [one for one in self.inner.unused if one.name in self.by]
        return pa.schema([*self.inner.columns, *more, _MARK])

    @property
    def unused(self) -> pa.Schema:
        """As the other decoder, without a key's."""
        return pa.schema([one for one in self.inner.unused if one.name not in self.by])

    @property
    def renames(self) -> Renames:
        """As the other decoder."""
        return self.inner.renames

    @property
    def has_waiting(self) -> bool:
        """As the other decoder, and whether rows wait for the schemas of their keys."""
        return self.inner.has_waiting or (self.keys is not None and self.keys.has_waiting)

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode values, and the keys of rows that have none.

        Rows from quarantine have no key any more, and stay as they are.
        """
        decoded = self.inner.decode(batch)
        count, columns = batch.num_rows, self.columns
        arrays = {
            one.name: decoded.columns[one.name]
            if one.name in decoded.columns.schema.names
            else pa.nulls(count, one.type)
            for one in columns
        }
        is_empty = pc.equal(decoded.reason, Reason.EMPTY_VALUE.value).fill_null(fill_value=False)
        if ROW_KEY in batch.schema.names and pc.any(is_empty).as_py():
            has_no_value = pc.is_null(batch["value"])
            has_key = pc.and_(pc.is_valid(batch[ROW_KEY]), has_no_value)
            decoded = self._with_keys(decoded, batch, pc.and_(is_empty, has_key), arrays)
        made = [arrays[one.name] for one in columns]
        return replace(decoded, columns=pa.RecordBatch.from_arrays(made, schema=columns))

    def _with_keys(
        self,
        decoded: Decoded,
        batch: pa.RecordBatch,
        of_key: pa.Array,
        arrays: dict[str, pa.Array],
    ) -> Decoded:
        """Put what keys say into the arrays; what they do not becomes the row's detail."""
        rows = pc.indices_nonzero(of_key)
        if not len(rows):
            return decoded
        told = self._told(batch[ROW_KEY].take(rows).to_pylist())
        is_good = [one.texts is not None for one in told]
        found: dict[str, pa.Array] = {}
        for place, name in enumerate(self.by):
            own = pa.array([one.texts[place] if one.texts else None for one in told], pa.string())
            found[name], misfits = column_of(own, self.columns.field(name).type)
            for row in misfits:
                is_good[row] = False
        is_told = pa.array(is_good)
        good = _mask(of_key, is_told)
        for name, values in found.items():
            arrays[name] = pc.replace_with_mask(arrays[name], good, values.filter(is_told))
        arrays[TOMBSTONE] = pc.if_else(good, True, pa.scalar(None, pa.bool_()))  # noqa: FBT003
        reasons = [
            None if is_it or one.question else one.reason
            for one, is_it in zip(told, is_good, strict=True)
        ]
        fact = f"its key does not tell {', '.join(self.by)}"
        details = [
            reason
            and (
                one.fact
                if reason == Reason.WAITING.value
                else f"{fact}{one.fact and ': '}{one.fact}"
            )
            for one, reason in zip(told, reasons, strict=True)
        ]
        asked = [one.question for one in told if one.question]
        places = {one: at for at, one in enumerate(dict.fromkeys([*decoded.questions, *asked]))}
        open_ = [places[one.question] if one.question else None for one in told]

        def placed(before: pa.Array, values: Sequence[Any]) -> pa.Array:
            return pc.replace_with_mask(before, of_key, pa.array(values, before.type))

        return replace(
            decoded,
            reason=placed(decoded.reason, reasons),
            detail=placed(decoded.detail, details),
            question=placed(decoded.question, open_),
            questions=tuple(places),
        )

    def _told(self, keys: Sequence[bytes]) -> list[_Told]:
        """What each key tells."""
        framed = [at for at, key in enumerate(keys) if is_framed(key)]
        read = dict(zip(framed, self._framed([keys[at] for at in framed]), strict=True))
        return [read.get(at) or _Told(texts=texts_of(key, self.by)) for at, key in enumerate(keys)]

    def _framed(self, keys: Sequence[bytes]) -> list[_Told]:
        if self.keys is None:
            fact = "it is framed, as with a registry, and the feed says no subject of keys"
            return [_Told(fact=fact) for _ in keys]
        return [self._of_read(one) for one in self.keys.read(keys)] if keys else []

    def _of_read(self, key: ReadKey) -> _Told:
        values = [key.values.get(name) for name in self.by] if key.values else [None]
        is_whole = all(is_plain(value) for value in values)
        return _Told(
            texts=[as_text(value) for value in values] if is_whole else None,
            fact=key.fact,
            reason=(Reason.WAITING if key.is_waiting else Reason.EMPTY_VALUE).value,
            question=key.question,
        )


def _mask(of_key: pa.Array, is_told: pa.Array) -> pa.Array:
    """`of_key` without those rows of it that are not told."""
    return pc.replace_with_mask(of_key, of_key, is_told)


def _split(questions: frozenset[Question]) -> tuple[list[RowKeyQuestion], frozenset[Question]]:
    """The questions about keys, and the others."""
    asked = [one for one in questions if isinstance(one, RowKeyQuestion)]
    return asked, questions - frozenset(asked)


def with_tombstones(
    feed: str, by: tuple[str, ...], inner: PayloadFormat[Any], keys: FramedKeys | None = None
) -> PayloadFormat[Any]:
    """The format of a feed's values, with tombstones by their keys, if it takes them.

    Args:
        feed: whose.
        by: columns that keys name; none if it takes no tombstones.
        inner: decodes values.
        keys: reads keys that are framed; None where nothing tells of their schemas.
    """
    return TombstoneFormat(feed, by, inner, keys) if by else inner
