"""Several subjects planned into the columns of one feed, each by the format of its language: pure.

A subject is planned with its own columns alone, as the feed has them, so that what that costs and
what its decoder makes does not grow with the other subjects. What a column is called among those of
the others is `column_names`' business.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import pyarrow as pa
from google.protobuf.message import DecodeError

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.base import Decoder, PayloadFormat
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.subjects.column_names import (
    GoesWith,
    changed,
    column_names,
    renames_in_feed,
)
from lake_assets.formats.subjects.renames import OfSubject
from lake_assets.model.misfits import RESCUED


class SubjectFormat(PayloadFormat[SchemaSet], Protocol):
    """The format of one subject's rows."""

    def goes_with(self, have: pa.Field, came: pa.Field) -> bool:
        """Whether a column, the first, holds a field's values, or gets a type that does."""

    def beside(self, name: str) -> str:
        """What a column's name has more than that of the one that it stands beside; or nothing."""


@dataclass(kw_only=True, slots=True)
class Planned:
    """A subject, and how its rows are decoded into which columns of the feed."""

    known: SchemaSet
    own: list[list[pa.Field]]
    """The columns that each of its versions makes, the oldest first."""

    names: dict[str, str] = field(default_factory=dict)
    """By its own name, the feed's column."""

    decoder: Decoder | None = None
    """None if it has none."""

    problem: SchemaUnusableError | None = None
    """Why it has none."""

    columns: pa.Schema | None = None
    """Its columns as the feed had them when it was planned last, under its own names."""

    def is_planned_with(self, names: Mapping[str, str], columns: pa.Schema) -> bool:
        """Whether to plan it with these once more would change nothing."""
        if self.columns is None or names != self.names:
            return False
        settled = self.columns if self.decoder is None else self.decoder.columns
        return columns in (self.columns, settled)

    @property
    def renames(self) -> OfSubject:
        """Which columns of the feed have older names, and all that the subject fills."""
        renames = Renames() if self.decoder is None else self.decoder.renames
        return renames_in_feed(renames, changed(self.names)), frozenset(self.names.values())


def plan_subjects(
    inner: SubjectFormat,
    sets: Iterable[SchemaSet],
    have: pa.Schema,
    route: Sequence[str],
    recorded: Mapping[str, Sequence[SchemaSet]],
    *,
    renames: bool = True,
) -> tuple[pa.Schema, list[Planned]]:
    """The columns of the feed, and each subject's plan; the leading subjects' names and types hold.

    Args:
        inner: plans one subject.
        sets: the subjects, the leading one first.
        have: the columns that the feed's tables have; they stay, and get wider at most.
        route: columns that say where a row goes.
        recorded: by subject, older versions that are known no more, each by itself.
        renames: whether a column that does not go with the feed's gets another name; else rows of
            versions that have it are refused.
    """
    work = _Work(inner, route, inner.goes_with if renames else _goes_with_any)
    for column in have:
        work.add(column)
    subjects = [
        Planned(known=known, own=own_columns(inner, known, recorded.get(known.subject, ())))
        for known in sets
    ]
    named = [work.names(one) for one in subjects]
    claimed = {name.lower() for names in named for pair in names.items() for name in pair}
    work.unclaimed = [key for key in work.columns if key not in claimed]
    is_changed = True
    while is_changed:  # what one brought along may be another's column, too
        is_changed = False
        for one in subjects:
            is_changed |= work.plan(one)
    columns = pa.schema(list(work.columns.values()))
    return have if columns.equals(have, check_metadata=True) else columns, subjects


def own_columns(
    inner: SubjectFormat, known: SchemaSet, recorded: Sequence[SchemaSet] = ()
) -> list[list[pa.Field]]:
    """The columns that each version of a subject makes by itself, the oldest first; then all.

    Together they may make further ones, such as those for a field's other types.
    """
    versions = sorted(known.versions, key=lambda one: known.versions[one].number)
    several = versions if len(versions) > 1 else []
    alone = [replace(known.alone(one), met=frozenset()) for one in several]
    made = [_made_once(inner, one) for one in recorded]
    made += [inner.made_by(one, ()) for one in (*alone, known)]
    return [[one for columns in version for one in columns] for version in made]


def _made_once(inner: SubjectFormat, version: SchemaSet) -> list[pa.Schema]:
    """The columns that a version made when it was noted; none of one in another language."""
    try:
        return inner.made_by(version, ())
    except (SchemaUnusableError, DecodeError, ValueError, KeyError, TypeError):
        return []


def _goes_with_any(have: pa.Field, came: pa.Field) -> bool:  # noqa: ARG001
    return True


@dataclass(slots=True)
class _Work:
    inner: SubjectFormat
    route: Sequence[str]
    goes_with: GoesWith
    columns: dict[str, pa.Field] = field(default_factory=dict)
    """The feed's, by name in lower case."""

    places: dict[str, int] = field(default_factory=dict)
    unclaimed: list[str] = field(default_factory=list)
    """Columns of tables that no subject makes: any may still have values for them."""

    def add(self, column: pa.Field) -> None:
        """Make a column the feed's, or its type that of the feed's."""
        key = column.name.lower()
        self.places.setdefault(key, len(self.places))
        self.columns[key] = column

    def names(self, one: Planned) -> dict[str, str]:
        """The feed's column of each of a subject's own ones."""
        fixed = frozenset(name.lower() for name in self.route)
        return column_names(one.own, self.columns, self.goes_with, fixed, self.inner.beside)

    def plan(self, one: Planned) -> bool:
        """Plan a subject with the feed's columns as they are now.

        Returns:
            Whether that changed anything: it was planned with others.
        """
        names = self.names(one)
        columns = self._seen_by(names)
        if one.is_planned_with(names, columns):
            return False
        if one.problem is not None and not self.columns:
            return False  # nothing has come along since
        one.names, one.columns = names, columns
        try:
            one.decoder, given = self._decoder(one, columns)
        except SchemaUnusableError as problem:
            one.decoder, one.problem = None, problem
            return bool(self.columns)
        one.problem = None
        self._take(one, one.decoder.columns, given)
        return True

    def _decoder(self, one: Planned, columns: pa.Schema) -> tuple[Decoder, pa.Schema]:
        """A subject's decoder, and the columns that it was planned with."""
        own = {name: mine for mine, name in one.names.items()}
        kept = frozenset(own[name] for name in one.known.unrounded if name in own)
        known = replace(one.known, unrounded=kept)
        route = [own.get(name, name) for name in self.route]
        try:
            return self.inner.plan(known, columns, route), columns
        except SchemaUnusableError:
            mine = {name.lower() for pair in one.names.items() for name in pair}
            strange = [it for key, it in self.columns.items() if key not in mine]
            if len(columns) or not strange:
                raise
            # Beside a column that is there, each version's rows are refused for a reason of theirs.
            given = pa.schema(strange[:1])
            return self.inner.plan(known, given, route), given

    def _seen_by(self, names: Mapping[str, str]) -> pa.Schema:
        """The feed's columns that a subject has, in their order, under its own names."""
        own = {name.lower(): mine for mine, name in names.items()}
        keys = [key for key in {*own, *self.unclaimed, RESCUED} if key in self.columns]
        found = (self.columns[key] for key in sorted(keys, key=lambda key: self.places[key]))
        return pa.schema([one.with_name(own.get(one.name.lower(), one.name)) for one in found])

    def _take(self, one: Planned, columns: pa.Schema, given: pa.Schema) -> None:
        """Make what a subject was planned into the feed's columns."""
        late = []
        had = {*given.names}
        for made in columns:
            name = one.names.get(made.name, made.name)
            before = self.columns.get(name.lower())
            if before is None or made.name in had:
                self.add(made.with_name(name if before is None else before.name))
            if made.name not in had and made.name not in one.names:
                late.append(made)
        if late:  # it may be others' column, too
            one.own = [*one.own, late]
