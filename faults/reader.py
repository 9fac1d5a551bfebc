"""The independent reader: what came of each event that the broker acknowledged, counted.

It knows the producer's journal and the lake's files; no Spark, none of our code, no library for
Delta. It is run after the streams have ended. What it finds wrong is a `Finding`; none is good.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from faults.delta_log import Table, is_of_log, read, replay, tables_in
from faults.journal import Acked
from faults.places import FileThere, Place

Offsets = Counter[tuple[int, int]]
"""How often a place of the topic is there."""

_EXAMPLES = 5
"""Named of each kind of finding; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Names:
    """What the lake's tables are called, and which columns tell what."""

    bronze: str
    quarantine: str
    silver: str
    """With `{key}`."""

    gold: str
    """With `{key}`."""

    gold_key: str
    gold_count: str
    event_id: str
    key: str

    def key_of(self, table: str) -> str | None:
        """The key whose silver table is called so."""
        before, _, after = self.silver.partition("{key}")
        fits = table.startswith(before) and table.endswith(after)
        return table[len(before) : len(table) - len(after)] if fits else None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: what kind, how many, and some of them."""

    kind: str
    count: int
    examples: tuple[str, ...]


@dataclass(slots=True)
class Counted:
    """What the reader found."""

    acked: int = 0
    silver: int = 0
    quarantine: int = 0
    erased: int = 0
    gold_rows: int = 0
    files: int = 0
    young_files: int = 0
    """That no log names, and that maintenance was not yet allowed to delete."""

    findings: list[Finding] = field(default_factory=list)

    def of(self, kind: str) -> int:
        """How many of a kind of finding."""
        return sum(finding.count for finding in self.findings if finding.kind == kind)


@dataclass(frozen=True, slots=True)
class Silver:
    """The rows of a key's silver that matter."""

    key: str
    places: list[tuple[int, int]]
    ids: list[str]
    keys: list[str]
    gold: Counter[str]
    """How often each value of the view's key is there."""


LOST, DOUBLED, WRONG, GOLD, UNNAMED, MISSING = (
    "lost",
    "doubled",
    "in the wrong table",
    "gold is not silver",
    "no log names the file",
    "a file that a log names is missing",
)


def count(
    place: Place,
    names: Names,
    acked: Sequence[Acked],
    erased: Collection[str] = (),
    *,
    files_younger_than: float | None = None,
) -> Counted:
    """Count everything.

    Args:
        place: the lake.
        names: of its tables.
        acked: the producer's journal.
        erased: ids of events whose player was asked to be erased after they were acknowledged.
        files_younger_than: files that no log names count as young from this time on, and are no
            finding; None where all are to be gone.

    Raises:
        UnreadableError: a table has what the reader does not know.
    """
    listed = place.files_below()
    tables = {name: replay(place, name) for name in tables_in(listed)}
    counted = Counted(acked=len(acked), files=len(listed))
    missing = _missing(listed, tables.values())
    counted.findings += _found(MISSING, missing)
    if missing:
        return counted
    silver = [_silver(place, names, name, tables[name], key) for name, key in _keys(names, tables)]
    bronze = _offsets(place, tables.get(names.bronze))
    refused = _offsets(place, tables.get(names.quarantine))
    counted.silver = sum(len(one.places) for one in silver)
    counted.quarantine = refused.total()
    counted.erased = len(erased)
    counted.findings += _events(acked, set(erased), bronze, silver, refused)
    counted.findings += _gold(place, names, tables, silver, counted)
    unnamed = [*_unnamed(listed, tables.values())]
    least = float("inf") if files_younger_than is None else files_younger_than
    young = [one for one in unnamed if one.changed_at >= least]
    counted.young_files = len(young)
    counted.findings += _found(UNNAMED, [one.path for one in unnamed if one not in young])
    return counted


def gold_differs(place: Place, names: Names) -> list[str]:
    """Where gold is not what silver comes to now."""
    there = [name for layer in ("silver", "gold") for name in place.folders(layer)]
    tables = {name: replay(place, name) for name in there}
    silver = [_silver(place, names, name, tables[name], key) for name, key in _keys(names, tables)]
    return [*_gold_differences(place, names, tables, silver, Counted())]


def _keys(names: Names, tables: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in tables:
        key = names.key_of(name)
        if key is not None:
            yield name, key


def _silver(place: Place, names: Names, name: str, table: Table, key: str) -> Silver:
    del name
    columns = ("_partition", "_offset", names.event_id, names.key, names.gold_key)
    rows = read(place, table, columns)
    if not rows.num_rows:
        return Silver(key, [], [], [], Counter())
    partitions, offsets, ids, keys, gold = (rows[column].to_pylist() for column in columns)
    return Silver(key, [*zip(partitions, offsets, strict=True)], ids, keys, Counter(gold))


def _offsets(place: Place, table: Table | None) -> Offsets:
    if table is None:
        return Counter()
    rows = read(place, table, ("partition", "offset"))
    if not rows.num_rows:
        return Counter()
    return Counter(zip(rows["partition"].to_pylist(), rows["offset"].to_pylist(), strict=True))


def _events(
    acked: Sequence[Acked],
    erased: Collection[str],
    bronze: Offsets,
    silver: Sequence[Silver],
    refused: Offsets,
) -> Iterator[Finding]:
    rows = [
        (where, name, one.key, key)
        for one in silver
        for where, name, key in zip(one.places, one.ids, one.keys, strict=True)
    ]
    in_silver = Counter(where for where, _, _, _ in rows)
    by_id = Counter(name for name, _ in {(name, where) for where, name, _, _ in rows})
    placed = in_silver + refused
    kept = [event for event in acked if event.id not in erased]
    gone = {event.place: event.id for event in acked if event.id in erased}
    what = {event.place: event for event in kept}
    yield from _found(LOST, _lost(kept, bronze, placed))
    yield from _found(DOUBLED, [f"{w} {n} times in bronze" for w, n in bronze.items() if n > 1])
    yield from _found(DOUBLED, [f"{w} {n} times" for w, n in placed.items() if n > 1])
    yield from _found(DOUBLED, [f"{i} at {n} places" for i, n in by_id.items() if n > 1])
    yield from _found(WRONG, [f"{w} in {k}: is of {g}" for w, _, k, g in rows if k != g])
    yield from _found(WRONG, _misplaced(what, in_silver, refused))
    others = [(i, w) for w, i, _, _ in rows if _is_other(what, w, i)]
    yield from _found(WRONG, [f"{i} at {w}, where {what[w].id} is" for i, w in others])
    yield from _found("from nowhere", [str(w) for w in placed if w not in bronze])
    left = [f"{i} at {w}" for w, i in gone.items() if bronze[w] or placed[w]]
    yield from _found("not erased", left)


def _lost(kept: Iterable[Acked], bronze: Offsets, placed: Offsets) -> list[str]:
    found = []
    for event in kept:
        layers = {"bronze": bronze, "silver or quarantine": placed}
        where = [name for name, rows in layers.items() if not rows[event.place]]
        if where:
            found.append(_in_words(event, f"not in {' nor in '.join(where)}"))
    return found


def _is_other(what: Mapping[tuple[int, int], Acked], where: tuple[int, int], name: str) -> bool:
    return where in what and what[where].id != name


def _misplaced(
    what: Mapping[tuple[int, int], Acked], in_silver: Offsets, refused: Offsets
) -> list[str]:
    """Events in quarantine that are good, and bad ones in silver."""
    return [
        _in_words(event, "the other of silver and quarantine")
        for where, event in what.items()
        if (in_silver[where] and not event.game) or (refused[where] and event.game)
    ]


def _in_words(event: Acked, where: str) -> str:
    return f"{event.id} of {event.game or 'nobody'} at {event.place}: {where}"


def _gold(
    place: Place,
    names: Names,
    tables: Mapping[str, Table],
    silver: Sequence[Silver],
    counted: Counted,
) -> Iterator[Finding]:
    yield from _found(GOLD, [*_gold_differences(place, names, tables, silver, counted)])


def _gold_differences(
    place: Place,
    names: Names,
    tables: Mapping[str, Table],
    silver: Sequence[Silver],
    counted: Counted,
) -> Iterator[str]:
    for one in silver:
        name = names.gold.replace("{key}", one.key)
        have: Counter[str] = Counter()
        twice = []
        if name in tables:
            rows = read(place, tables[name], (names.gold_key, names.gold_count))
            counted.gold_rows += rows.num_rows
            for who, many in _pairs(rows):
                twice += [f"{name}: two rows of {who}"] if who in have else []
                have[who] = many
        yield from twice
        for who in have.keys() | one.gold.keys():
            if have[who] != one.gold[who]:
                yield f"{name}: {who} has {have[who]}, silver {one.gold[who]}"


def _pairs(rows: pa.Table) -> Iterator[tuple[Any, int]]:
    if rows.num_rows:
        columns = (pc.cast(rows[1], pa.int64()).to_pylist(), rows[0].to_pylist())
        yield from ((who, many) for many, who in zip(*columns, strict=True))


def _missing(listed: Sequence[FileThere], tables: Iterable[Table]) -> list[str]:
    there = {one.path for one in listed}
    named = (f"{table.name}/{path}" for table in tables for path in table.files)
    return sorted(path for path in named if path not in there)


def _unnamed(listed: Sequence[FileThere], tables: Iterable[Table]) -> Iterator[FileThere]:
    named = {table.name: table.named for table in tables}
    for one in listed:
        name = next((name for name in named if one.path.startswith(f"{name}/")), None)
        inner = one.path[len(name) + 1 :] if name else one.path
        # Outside tables, what has rows is of a table whose log went or never began.
        known = inner in named[name] or is_of_log(inner) if name else not inner.endswith(".parquet")
        if not known:
            yield one


def _found(kind: str, what: Sequence[str]) -> list[Finding]:
    return [Finding(kind, len(what), tuple(what[:_EXAMPLES]))] if what else []
