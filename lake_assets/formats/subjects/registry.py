"""Questions to a registry about several subjects, and their answers kept as those of one are.

That a subject of the feed is not there yet is no fault: its first row may be still to come. Only
where there is none at all must somebody wait.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from time import time

from lake_assets.errors import RegistryError, SchemaNotFoundError
from lake_assets.formats.confluent.cache import SchemaCache
from lake_assets.formats.confluent.registry import MOST_ASKED, Registry
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets.model.subjects import Subjects

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SubjectsRegistry:
    """What a registry says of the subjects that a feed takes."""

    choice: Subjects
    registry: Registry
    cache: SchemaCache | None = None
    """Where versions are kept; None keeps none."""

    clock: Callable[[], float] = time

    def newest(self) -> SubjectSchemas:
        """All versions of all subjects that are there; without an answer, those that are kept.

        Raises:
            SchemaNotFoundError: no subject of the feed's is there.
            SchemaUnusableError: no version of any can be decoded into columns.
            RegistryError: no answer, and no version is kept that makes columns.
        """
        nothing = SubjectSchemas(choice=self.choice)
        kept = nothing.with_sets(self._kept())
        try:
            known = [kept.of(name) for name in self._names()]
            are_listed = self.choice.pattern is not None
            latest = list(self.registry.versions_of(known, are_listed=are_listed))
        except RegistryError as problem:
            if self.cache is None or self._complaint(kept) is not None:
                raise
            _LOG.warning("%s. Until it answers, the schemas in %s hold", problem, self.cache.folder)
            return kept
        schemas = nothing.with_sets(latest)
        complaint = self._complaint(schemas)
        if complaint is not None:
            raise complaint
        self._tell_missing(schemas)
        self._keep(kept, schemas)
        return schemas

    def check(self) -> None:
        """Make sure that the registry answers questions; what is kept does not count.

        Raises:
            RegistryError: it does not.
        """
        if self.choice.pattern is not None:
            self.registry.subjects()
            return
        # Who may read some subjects need not be allowed to list all.
        with suppress(SchemaNotFoundError):
            self.registry.check(self.choice.names[0])

    def resolve(self, schemas: SubjectSchemas, ids: Collection[int]) -> SubjectSchemas:
        """`schemas` with an answer for each of `ids`: whose it is, unknown or foreign.

        As `Registry.resolve`: subjects that have some of the ids are asked for again, or all of
        them, and `is_flooded` set, where there are far too many ids.

        Raises:
            RegistryError: no answer.
        """
        asked = sorted(schemas.unanswered(ids))
        if not asked:
            return schemas
        if len(asked) > MOST_ASKED:
            names = {*self._names(), *schemas.sets}
            latest = schemas.with_latest(self._latest(sorted(names), schemas))
            self._keep(schemas, latest)
            return replace(latest, others=replace(latest.others, is_flooded=True))
        found = self.registry.subjects_of(asked)
        own = {
            schema_id: {name: n for name, n in numbers.items() if self.choice.takes(name)}
            for schema_id, numbers in found.items()
        }
        names = {name for numbers in own.values() for name in numbers}
        latest = schemas.with_latest(self._latest(sorted(names), schemas)) if names else schemas
        latest = latest.with_latest(self._deleted(latest, own))
        self._keep(schemas, latest)
        others = latest.others.with_others(
            unknown=[schema_id for schema_id in asked if not found[schema_id]],
            foreign=[schema_id for schema_id in asked if found[schema_id] and not own[schema_id]],
            now=self.clock(),
        )
        return replace(latest, others=others)

    def _names(self) -> list[str]:
        """The subjects of the feed's that are to be asked for."""
        if self.choice.pattern is None:
            return list(self.choice.names)
        return sorted(name for name in self.registry.subjects() if self.choice.takes(name))

    def _latest(self, names: Iterable[str], before: SubjectSchemas) -> Iterator[SchemaSet]:
        """The versions of each subject that is there."""
        return self.registry.versions_of([before.of(name) for name in names])

    def _deleted(
        self, latest: SubjectSchemas, own: dict[int, dict[str, int]]
    ) -> Iterator[SchemaSet]:
        """Versions that no subject lists any more, yet rows of them came; each of one subject."""
        owners = latest.owners
        for schema_id, numbers in own.items():
            if numbers and schema_id not in owners:
                name = min(numbers, key=self._rank)
                version = self.registry.version_of(name, numbers[name], schema_id)
                yield SchemaSet(subject=name, versions={schema_id: version})

    def _rank(self, name: str) -> tuple[int, str]:
        names = self.choice.names
        return (names.index(name) if name in names else 0), name

    def _complaint(self, schemas: SubjectSchemas) -> RegistryError | None:
        """Why no row can be decoded; None if there are columns."""
        first: RegistryError | None = None
        for one in schemas.sets.values():
            try:
                self.registry.language.check(one)
            except RegistryError as problem:
                first = first or problem
            else:
                return None
        if first is not None:
            return first
        step = "Register one, or correct the feed's subjects"
        return SchemaNotFoundError(self.choice.title, "have no schema in the registry", step)

    def _tell_missing(self, schemas: SubjectSchemas) -> None:
        missing = [name for name in self.choice.names if name not in schemas.sets]
        if missing:
            text = "%s: not in the registry yet; rows of it are taken once it is registered"
            _LOG.info(text, ", ".join(missing))

    def _kept(self) -> list[SchemaSet]:
        if self.cache is None:
            return []
        named = self.choice.names
        names = named or [name for name in self.cache.subjects() if self.choice.takes(name)]
        return [SchemaSet(subject=name, versions=self.cache.read(name)) for name in names]

    def _keep(self, before: SubjectSchemas, after: SubjectSchemas) -> None:
        if self.cache is None:
            return
        for name in {**before.sets, **after.sets}:
            # Of a subject that is no more nothing is kept: another may have its ids.
            if after.of(name).versions != before.of(name).versions:
                self.cache.write(after.of(name))
