"""The schemas that rows bring with them, as what a registry would say: versions in their order.

Who keeps them is the source's business (`base.Surroundings.brought`), and what one is the format's.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from lake_assets.formats.confluent.schemas import SchemaSet, Version

SUBJECT = "files"
"""What stands for a subject, where the rows of all files are told from others."""


@dataclass(frozen=True, slots=True)
class BroughtSchemas:
    """A `formats.confluent.registered_format.Answers` that nobody else is asked for."""

    brought: Callable[[], Sequence[tuple[int, str]]]
    """The schemas by id, that which came first first.

    Raises:
        LakeError: what keeps them cannot be read.
    """

    version_of: Callable[[int, str], Version]
    """A version of a number, by its text; raises nothing."""

    def newest(self, subject: str = SUBJECT, message: str | None = None) -> SchemaSet:  # noqa: ARG002
        """All that came; none before the first row did."""
        return self._with(SchemaSet(subject=SUBJECT, versions={}, message=message))

    def resolve(self, schemas: SchemaSet, ids: Collection[int]) -> SchemaSet:
        """With those that came since; what nobody brought is unknown."""
        if not schemas.unanswered(ids):
            return schemas
        known = self._with(schemas)
        return known.with_others(unknown=known.unanswered(ids), foreign=(), now=0.0)

    def check(self, subject: str) -> None:
        """Always answers."""

    def _with(self, schemas: SchemaSet) -> SchemaSet:
        brought = enumerate(self.brought(), 1)
        new = {
            schema_id: self.version_of(number, text)
            for number, (schema_id, text) in brought
            if schema_id not in schemas.versions
        }
        return replace(schemas, versions={**schemas.versions, **new}) if new else schemas
