"""A payload format that reads rows without a value by their key: tombstones of compacted topics.

The key names columns of a keyed table's `by`: as an object of JSON, or, if it is one column, as a
string, number or boolean of JSON, or as text; all of JSON also below `payload`, beside a `schema`,
as Kafka Connect writes it. What no key says is refused as before. Values are the other format's.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import FeedError
from lake_assets.formats.base import Decoded, Decoder, PayloadFormat, Question
from lake_assets.formats.csv.columns import column_of
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

    def newest(self) -> Any:  # noqa: ANN401 - the other format's
        """As the other format."""
        return self.inner.newest()

    def check(self) -> None:
        """As the other format."""
        self.inner.check()

    def for_next_batch(self, schemas: Any, now: float) -> Any:  # noqa: ANN401
        """As the other format."""
        return self.inner.for_next_batch(schemas, now)

    def resolve(self, schemas: Any, questions: frozenset[Question]) -> Any:  # noqa: ANN401
        """As the other format."""
        return self.inner.resolve(schemas, questions)

    def let_wait(self, schemas: Any, questions: frozenset[Question]) -> Any:  # noqa: ANN401
        """As the other format."""
        return self.inner.let_wait(schemas, questions)

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
        return TombstoneDecoder(inner=inner, by=self.by)

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
class TombstoneDecoder:
    """A `formats.base.Decoder`."""

    inner: Decoder
    by: tuple[str, ...]

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
        """As the other decoder."""
        return self.inner.has_waiting

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
        keys = batch[ROW_KEY].take(rows).to_pylist()
        texts = [_texts(key, self.by) for key in keys]
        told: set[int] = {at for at, text in enumerate(texts) if text is not None}
        found: dict[str, pa.Array] = {}
        for place, name in enumerate(self.by):
            own = pa.array([text[place] if text else None for text in texts], pa.string())
            found[name], misfits = column_of(own, self.columns.field(name).type)
            told -= set(misfits)
        is_told = pa.array([at in told for at in range(len(texts))])
        good = _mask(of_key, is_told)
        for name, values in found.items():
            arrays[name] = pc.replace_with_mask(arrays[name], good, values.filter(is_told))
        arrays[TOMBSTONE] = pc.if_else(good, True, pa.scalar(None, pa.bool_()))  # noqa: FBT003
        none = pa.scalar(None, pa.string())
        bad = pc.and_(of_key, pc.invert(good))
        facts = pc.replace_with_mask(decoded.detail, of_key, self._facts(keys))
        return replace(
            decoded,
            reason=pc.if_else(good, none, decoded.reason),
            detail=pc.if_else(good, none, pc.if_else(bad, facts, decoded.detail)),
        )

    def _facts(self, keys: Sequence[bytes]) -> pa.Array:
        """Of each key, what is told if it tells no row."""
        fact = f"its key does not tell {', '.join(self.by)}"
        framed = f"{fact}: it is framed, as a registry's serializers write it, and not read"
        return pa.array([framed if _is_framed(key) else fact for key in keys], pa.string())


def _mask(of_key: pa.Array, is_told: pa.Array) -> pa.Array:
    """`of_key` without those rows of it that are not told."""
    return pc.replace_with_mask(of_key, of_key, is_told)


def _texts(key: bytes, by: Sequence[str]) -> list[str] | None:
    """The columns' values in a key, as text; None if it does not say all of them."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    try:
        found = json.loads(
            text, parse_int=_AsItStands, parse_float=_AsItStands, parse_constant=_AsItStands
        )
    except (ValueError, RecursionError):
        found = _AsItStands(text)
    if isinstance(found, bool | _AsItStands):
        # It stands for itself; what is framed, as Avro and protobuf are, has control characters.
        return [text] if len(by) == 1 and not _CONTROL.search(text) else None
    if isinstance(found, dict) and found.keys() == {"schema", "payload"}:
        found = found["payload"]
    if isinstance(found, dict):
        values = [found.get(name) for name in by]
    elif len(by) == 1:
        values = [found]
    else:
        return None
    return [_text(one) for one in values] if all(map(_is_plain, values)) else None


def _is_framed(key: bytes) -> bool:
    """Whether a key begins as one with a schema of the registry: Avro, protobuf, JSON Schema."""
    return len(key) >= _HEADER and key[0] == 0


_HEADER = 5
"""Bytes of magic byte and schema id."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Half a character, which JSON may escape and no column holds."""


class _AsItStands(str):
    """A number of JSON, or a text that is no JSON, as it stands."""

    __slots__ = ()


def _is_plain(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and not _SURROGATE.search(value))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_tombstones(
    feed: str, by: tuple[str, ...], inner: PayloadFormat[Any]
) -> PayloadFormat[Any]:
    """The format of a feed's values, with tombstones by their keys, if it takes them.

    Args:
        feed: whose.
        by: columns that keys name; none if it takes no tombstones.
        inner: decodes values.
    """
    return TombstoneFormat(feed, by, inner) if by else inner
