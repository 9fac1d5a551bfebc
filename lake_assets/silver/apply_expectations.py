"""Acting on expectations, in Spark's workers: which rows stay, and what each key's rows came to.

Which rows violate what is decided before (`silver.expectation_marks`, `silver.arrow_evaluator`);
here come the marks.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.expectations import Action
from lake_assets.model.origins import Origin, OriginColumns
from lake_assets.model.quarantine import Reason
from lake_assets.model.reports import Judged
from lake_assets.parquet.writer import TABLE
from lake_assets.silver.erased_rows import erased_at, erased_whole
from lake_assets.silver.expectation_columns import MARKS_PER_COLUMN, Marks
from lake_assets.silver.rows import DETAIL, REASON
from lake_assets.silver.rows_in_several_tables import are_first, spread_to_rows
from lake_assets.silver.scopes import EVERYTHING, Refused, Scope
from lake_assets.silver.whole_values import of_refused, refused_whole

EXAMPLES = 3
"""Origins kept of the rows that violate an expectation, a key."""

DecodeAndMark: TypeAlias = Callable[
    [Iterable[pa.RecordBatch]], Iterable[tuple[pa.RecordBatch, Marks]]
]
"""Makes decoded rows and their marks of what Spark hands over to a writing task."""

_Ints: TypeAlias = npt.NDArray[np.int64]
_Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """An expectation, as far as acting on it goes."""

    name: str
    action: Action
    keys: tuple[bool, ...]
    """By index of the key, whether its rows are judged."""

    is_skipped: bool = False
    """Whether rows that violate it are put aside as skipped, though its action is to fail."""

    is_final: bool = False
    """Whether nothing else is expected of rows that violate it; what comes after it is not then."""


@dataclass(kw_only=True, slots=True)
class _Found:
    """What was found of one key's rows."""

    seen: int = 0
    dropped: int = 0
    violated: list[int] = field(default_factory=list)
    examples: list[list[tuple[str, int, int]]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one key's rows came to in a batch."""

    seen: int
    """Rows that named the key."""

    dropped: int
    judged: Mapping[str, Judged]
    """By expectation that holds for the key."""


class Judge:
    """A `spark.fan_out.RowTransform`: acts on the marks of rows that already name their table.

    A row that violates several expectations is quarantined if one of them says so, else dropped if
    one says so, else kept. One of several tables is quarantined as a whole, and dropped from each.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        keys: int,
        decode: DecodeAndMark,
        origin: OriginColumns,
        scope: Scope = EVERYTHING,
        *,
        explodes: bool = False,
    ) -> None:
        """Judge rows of `keys` keys; a row's `#table` beyond them is no key's.

        Args:
            rules: the expectations.
            keys: how many there are.
            decode: where the rows and their marks come from.
            origin: the rows' columns that say where they came from.
            scope: which rows are written.
            explodes: whether a value may be several rows.
        """
        self._rules = rules
        self._explodes = explodes
        self._erased = erased_at(keys)
        self._decode = decode
        self._origin = origin
        self._quarantine = keys
        self._scope = scope
        self._applies = np.array([rule.keys for rule in rules], dtype=np.bool_)
        self._found = [
            _Found(violated=[0] * len(rules), examples=[[] for _ in rules]) for _ in range(keys)
        ]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows to write."""
        for batch, marks in self._decode(batches):
            places = _places(batch)
            judged, dropped = self._act(batch, marks, places)
            if self._explodes:
                judged = erased_whole(judged, self._quarantine, self._erased)
                dropped &= ~of_refused(judged, self._quarantine)
                judged = refused_whole(judged, self._quarantine)
            for key, count in self._by_key(places[dropped]):
                self._found[key].dropped += count
            yield self._in_scope(judged, places)

    def notes(self) -> Iterable[str]:
        """A JSON object by index of the key, for `outcomes`."""
        tallies = {
            key: [tally.seen, tally.dropped, tally.violated, tally.examples]
            for key, tally in enumerate(self._found)
            if tally.seen
        }
        return [json.dumps(tallies)] if tallies else []

    def _count(self, places: _Ints) -> _Mask:
        """Count the keys' rows; tell which rows are a key's."""
        is_key = (places >= 0) & (places < self._quarantine)
        for key, count in self._by_key(places[is_key]):
            self._found[key].seen += count
        return is_key

    def _by_key(self, places: _Ints) -> Iterator[tuple[int, int]]:
        """Keys that have some of these places, and how many."""
        counts = np.bincount(places, minlength=self._quarantine)
        return ((int(key), int(counts[key])) for key in np.flatnonzero(counts))

    def _act(
        self, batch: pa.RecordBatch, marks: Marks, places: _Ints
    ) -> tuple[pa.RecordBatch, _Mask]:
        """The rows where they go, each for itself, and which of them are dropped."""
        is_key = self._count(places)
        dropped = np.zeros(len(places), dtype=np.bool_)
        if not marks:
            return batch, dropped
        quarantined: dict[str, _Mask] = {}
        skipped = np.zeros(len(places), dtype=np.bool_)
        for index, rule in enumerate(self._rules):
            column, bit = divmod(index, MARKS_PER_COLUMN)
            violated = ((marks[column] >> bit) & 1).astype(np.bool_) & is_key
            if not violated.any():
                continue
            violated[violated] = self._applies[index][places[violated]]
            self._note(index, batch, places, violated)
            is_key &= ~(violated & rule.is_final)
            if rule.action is Action.DROP:
                dropped |= violated
            elif rule.action is Action.QUARANTINE or rule.is_skipped:
                quarantined[rule.name] = violated
            if rule.is_skipped:
                skipped |= violated
        return self._place(batch, places, dropped, quarantined, skipped)

    def _in_scope(self, batch: pa.RecordBatch, decoded: _Ints) -> pa.RecordBatch:
        """The batch, with no table for the rows that are out of scope.

        Args:
            batch: the rows with their tables as judged.
            decoded: the same rows' tables before they were judged.
        """
        if self._scope == EVERYTHING:
            return batch
        is_key = (decoded >= 0) & (decoded < self._quarantine)
        written = is_key.copy()
        if self._scope.keys is not None:
            written[is_key] = np.array(self._scope.keys)[decoded[is_key]]
            written = spread_to_rows(batch, written, is_any=self._scope.is_any)
        if self._scope.refused is Refused.ALL:
            written |= decoded >= self._quarantine
        if self._scope.refused is Refused.NONE:
            written &= _places(batch) != self._quarantine
        written |= decoded == self._erased
        table = pc.if_else(pa.array(written), batch[TABLE], pa.scalar(None, pa.int32()))
        return batch.set_column(batch.schema.get_field_index(TABLE), TABLE, table)

    def _note(self, rule: int, batch: pa.RecordBatch, places: _Ints, violated: _Mask) -> None:
        rows = np.flatnonzero(violated)
        for key, count in self._by_key(places[rows]):
            tally = self._found[key]
            tally.violated[rule] += count
            missing = EXAMPLES - len(tally.examples[rule])
            if missing > 0:
                first = rows[places[rows] == key][:missing]
                tally.examples[rule] += [_origin(batch, int(row), self._origin) for row in first]

    def _place(
        self,
        batch: pa.RecordBatch,
        places: _Ints,
        dropped: _Mask,
        quarantined: Mapping[str, _Mask],
        skipped: _Mask,
    ) -> tuple[pa.RecordBatch, _Mask]:
        kept = np.zeros(len(places), dtype=np.bool_)
        quarantined = {name: spread_to_rows(batch, m) for name, m in quarantined.items()}
        for mask in quarantined.values():
            kept |= mask
        skipped = spread_to_rows(batch, skipped)
        dropped &= ~kept
        nothing = pa.scalar(None, pa.int32())
        table = pc.if_else(pa.array(dropped), nothing, batch[TABLE])
        table = pc.if_else(pa.array(kept & ~are_first(batch)), nothing, table)
        goes = pa.array(kept & are_first(batch))
        changes = {TABLE: pc.if_else(goes, pa.scalar(self._quarantine, pa.int32()), table)}
        if quarantined:
            word = pc.if_else(pa.array(skipped), Reason.SKIPPED.value, Reason.EXPECTATION.value)
            named = pa.nulls(len(places), pa.string())
            for name, mask in quarantined.items():
                joined = pc.coalesce(
                    pc.binary_join_element_wise(named, name, ", "), pa.scalar(name)
                )
                named = pc.if_else(pa.array(mask), joined, named)
            changes[REASON] = pc.if_else(pa.array(kept), word, batch[REASON])
            changes[DETAIL] = pc.if_else(pa.array(kept), named, batch[DETAIL])
        arrays = [changes.get(name, batch[name]) for name in batch.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=batch.schema), dropped


def outcomes(notes: Iterable[str], rules: Sequence[Rule]) -> dict[int, Outcome]:
    """By index of the key, what the notes of all tasks together say."""
    total: dict[int, _Found] = {}
    for note in notes:
        for key, (seen, dropped, violated, examples) in json.loads(note).items():
            empty = _Found(violated=[0] * len(rules), examples=[[] for _ in rules])
            tally = total.setdefault(int(key), empty)
            tally.seen += seen
            tally.dropped += dropped
            for index, _ in enumerate(rules):
                tally.violated[index] += violated[index]
                tally.examples[index] = (tally.examples[index] + examples[index])[:EXAMPLES]
    return {key: _outcome(summed, key, rules) for key, summed in sorted(total.items())}


def _outcome(found: _Found, key: int, rules: Sequence[Rule]) -> Outcome:
    judged = {
        rule.name: Judged(
            seen=found.seen,
            violated=found.violated[index],
            examples=tuple(Origin(*example) for example in found.examples[index]),
        )
        for index, rule in enumerate(rules)
        if rule.keys[key]
    }
    return Outcome(seen=found.seen, dropped=found.dropped, judged=judged)


def _places(batch: pa.RecordBatch) -> _Ints:
    """`#table`, with -1 for null."""
    places: _Ints = batch[TABLE].fill_null(-1).cast(pa.int64()).to_numpy()
    return places


def _origin(batch: pa.RecordBatch, row: int, columns: OriginColumns) -> tuple[str, int, int]:
    partition = batch[columns.partition][row].as_py() if columns.partition else 0
    return batch[columns.name][row].as_py(), partition, batch[columns.offset][row].as_py()
