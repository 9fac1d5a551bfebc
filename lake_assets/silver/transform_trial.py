"""A feed's `transform`, tried on the driver before rows come: which columns it gives, if it may.

It is called with no rows, with made-up ones and with nulls, twice each: what it gives for them must
be what it promises to give for all. Calling it with rows is for `silver.transforming_decoder`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from lake_assets.errors import FeedError
from lake_assets.feeds.functions import NamedFunction
from lake_assets.model.misfits import RESCUED
from lake_assets.model.sources import ORIGIN_NAMES
from lake_assets.silver.sample_rows import null_rows, sample_rows
from lake_assets.silver.transform_call import (
    BrokenPromiseError,
    Transform,
    called,
    conformed,
    words,
)

_LOG = logging.getLogger(__name__)

_OF_VALUES = (ValueError, LookupError, ArithmeticError)
"""What a function may raise for values that were made up, such as one that no table of its own
has; a `TypeError` or a `NameError` would come for others, too."""

_KEPT = {
    pa.bool_(),
    pa.string(),
    pa.binary(),
    pa.date32(),
    pa.float32(),
    pa.float64(),
}
_PLAIN = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}

_TABLE = "which silver's tables cannot have"


@dataclass(frozen=True, slots=True)
class Trial:
    """What a function gives for rows with some columns."""

    columns: pa.Schema
    """All nullable, of types that tables have."""

    passed: frozenset[str]
    """Those among them that it hands on as they come, as far as the trial can tell."""


@lru_cache(maxsize=64)
def try_transform(feed: str, function: NamedFunction, columns: pa.Schema) -> Trial:
    """Find out what a function gives for rows with these columns.

    Args:
        feed: whose, for errors.
        function: what it names.
        columns: of the rows that it is given.

    Raises:
        FeedError: it cannot be imported, raises where it may not, gives something else than a batch
            of as many rows, or columns that no table can have, or not the same each time.
    """
    return _Tried(f"transform of feed {feed!r}", function.name, function.load()).trial(columns)


@dataclass(frozen=True, slots=True)
class _Tried:
    thing: str
    name: str
    function: Transform

    def trial(self, columns: pa.Schema) -> Trial:
        none = columns.empty_table().to_batches()
        rows = (
            none[0]
            if none
            else pa.RecordBatch.from_arrays(
                [pa.array([], one.type) for one in columns], schema=columns
            )
        )
        empty = self._gives(rows, "no rows", ())
        assert empty is not None  # noqa: S101 - nothing may be raised for it
        samples = sample_rows(columns)
        made = self._gives(samples, "made-up rows", _OF_VALUES)
        nulls = null_rows(columns)
        of_nulls = self._gives(nulls, "rows of nulls", (Exception,))
        given = self._columns([one for one in (empty, made, of_nulls) if one is not None])
        for one in (made, of_nulls):
            if one is not None:
                self._conforms(one, given)
        self._ensure_alone(samples, made)
        pairs = [(samples, made), (nulls, of_nulls)]
        return Trial(given, _passed(given, [(a, b) for a, b in pairs if b is not None], columns))

    def _gives(
        self, rows: pa.RecordBatch, what: str, may_raise: tuple[type[Exception], ...]
    ) -> pa.RecordBatch | None:
        """What the function gives for rows, twice the same; None if it raises what it may."""
        try:
            first, second = (called(self.function, rows) for _ in range(2))
        except BrokenPromiseError as problem:
            fact = f"{self.name} {problem}, for {what}"
            raise self._error(fact, "Give a batch with a row for each") from problem
        except Exception as problem:  # a function may raise anything
            if not isinstance(problem, may_raise):
                fact = f"{self.name} raises for {what} ({words(problem)})"
                raise self._error(fact, "Correct it, and start again") from problem
            text = "%s: %s raises for %s (%s); rows like that would be quarantined"
            _LOG.warning(text, self.thing, self.name, what, words(problem))
            return None
        if _told(first) != _told(second) or first.schema != second.schema:
            fact = f"{self.name} gives something else for the same rows when called again"
            step = "Use what the row has, and no clock, chance or counter"
            raise self._error(fact, step)
        return first

    def _columns(self, given: Sequence[pa.RecordBatch]) -> pa.Schema:
        """The columns that a function gives, by all that it gave."""
        first, *others = (one.schema for one in given)
        for other in others:
            if other.names != first.names:
                fact = f"{self.name} gives columns {', '.join(other.names) or 'none'} for some rows"
                fact += f" and {', '.join(first.names) or 'none'} for none"
                raise self._error(fact, "Give the same columns always")
        self._refuse_names(first.names)
        kinds = {
            name: self._kind(name, [one.schema.field(name).type for one in given])
            for name in first.names
        }
        return pa.schema([pa.field(name, kind) for name, kind in kinds.items()])

    def _kind(self, name: str, given: Sequence[pa.DataType]) -> pa.DataType:
        kinds = list(dict.fromkeys(one for one in given if not pa.types.is_null(one)))
        if not kinds:
            fact = f"{self.name} gives column {name} without a type"
            raise self._error(fact, "Give it one: `pa.array(values, pa.string())`")
        stored = list(dict.fromkeys(map(_stored, kinds)))
        if len(stored) > 1:
            fact = f"{self.name} gives column {name} as {' and as '.join(map(str, kinds))}"
            raise self._error(fact, "Cast it to one type")
        if stored[0] is None:
            fact = f"{self.name} gives column {name} as {kinds[0]}, {_TABLE}"
            is_naive = pa.types.is_timestamp(kinds[0])
            raise self._error(fact, 'Give it the time zone "UTC"' if is_naive else "Cast it")
        return stored[0]

    def _refuse_names(self, names: Sequence[str]) -> None:
        lower = [name.lower() for name in names]
        for name in names:
            if lower.count(name.lower()) > 1:
                fact = f"{self.name} gives two columns {name}"
                raise self._error(fact, "Give one another name, or leave it")
            is_taken = name.lower() in ORIGIN_NAMES or (name.startswith("_") and name != RESCUED)
            if not name or is_taken or name.startswith("#"):
                fact = f"{self.name} gives a column {name!r}, and such names are silver's own"
                raise self._error(fact, "Name it otherwise")

    def _conforms(self, made: pa.RecordBatch, given: pa.Schema) -> None:
        try:
            conformed(made, given)
        except BrokenPromiseError as problem:
            raise self._error(f"{self.name} {problem}", "Cast it") from problem

    def _ensure_alone(self, rows: pa.RecordBatch, made: pa.RecordBatch | None) -> None:
        """Make sure that a row by itself gives what it gave beside others."""
        if made is None:
            return
        for place in range(rows.num_rows):
            own = self._gives(rows.slice(place, 1), "a made-up row", _OF_VALUES)
            if own is None or _told(own) != _told(made.slice(place, 1)):
                fact = f"{self.name} gives something else for a row alone than beside others"
                step = "Compute each row from its own columns: batches are cut anywhere"
                raise self._error(fact, step)

    def _error(self, fact: str, step: str) -> FeedError:
        return FeedError(self.thing, fact, step)


def _told(rows: pa.RecordBatch) -> str:
    """The values, for comparison; as text, since NaN equals nothing else."""
    return repr(rows.to_pydict())


def _passed(
    given: pa.Schema, tried: Sequence[tuple[pa.RecordBatch, pa.RecordBatch]], columns: pa.Schema
) -> frozenset[str]:
    """Columns of the same name and type with the same values in all that was tried."""
    if not tried:
        return frozenset()
    return frozenset(
        one.name
        for one in given
        if one.name in columns.names
        and one.type == columns.field(one.name).type
        and all(
            repr(came[one.name].to_pylist()) == repr(gone[one.name].to_pylist())
            for came, gone in tried
        )
    )


def _stored(kind: pa.DataType) -> pa.DataType | None:
    """The type as silver's tables have it; None if they cannot."""
    types = pa.types
    if types.is_dictionary(kind):
        return _stored(kind.value_type)
    if types.is_nested(kind):
        return _stored_nested(kind)
    if types.is_timestamp(kind):
        return pa.timestamp("us", "UTC") if kind.tz else None
    if types.is_decimal128(kind):
        return kind if 0 <= kind.scale <= kind.precision else None
    is_ours = types.is_signed_integer(kind) or kind in _KEPT
    return kind if is_ours else _PLAIN.get(kind)


def _stored_nested(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_struct(kind):
        fields = [(field.name, _stored(field.type)) for field in kind]
        is_ours = fields and all(
            inner is not None for _, inner in fields
        )  # Parquet has no empty one
        return pa.struct(fields) if is_ours else None
    if pa.types.is_map(kind):
        key, item = _stored(kind.key_type), _stored(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        item = _stored(kind.value_type)
        return None if item is None else pa.list_(pa.field("item", item))
    return None
