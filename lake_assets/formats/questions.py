"""What a decoder asks: nouns of what rows in Spark's workers need and the driver answers.

Who carries them to the driver is `silver.questions`; who answers is a `base.PayloadFormat`.
"""

from dataclasses import dataclass
from typing import TypeAlias

from lake_assets.model.schema_history import RegisteredVersion


@dataclass(frozen=True, slots=True)
class SchemaIdQuestion:
    """Whether the registry knows an id that no row had before, and whose it is."""

    schema_id: int


@dataclass(frozen=True, slots=True)
class MessageQuestion:
    """The columns of a message that no row named before."""

    schema_id: int
    path: tuple[int, ...]
    """Where it stands in the schema."""


@dataclass(frozen=True, slots=True)
class NewColumnsQuestion:
    """Columns that a row has and the plan has not, or not of a type that holds the row's value."""

    columns: tuple[tuple[str, str], ...]
    """Names, each with a type for the values of the rows that ask, as Spark SQL names it: `bigint`.
    Rows that are decoded together ask as one, so that there are no more questions than batches."""

    crowded: tuple[str, ...] = ()
    """Names for which these rows have more fields than a table may have; they get none."""


@dataclass(frozen=True, slots=True)
class ExpressionQuestion:
    """That Spark must compute a feed's `select`, since Arrow is not sure of a value."""

    operation: str
    """The one that was not sure: `lower`."""


@dataclass(frozen=True, slots=True)
class UnknownNamesQuestion:
    """What to do about names of a row that nobody declared, where the feed says to stop."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptTypesQuestion:
    """What to do about columns whose stored values the types would not hold that they are to get.

    No row asks; the plan that was made before does.
    """

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownVersionsQuestion:
    """What to do about registered versions that the feed's tables were made with.

    No row asks; who starts does, for the registry may have deleted some.
    """

    versions: tuple[RegisteredVersion, ...]


@dataclass(frozen=True, slots=True)
class SelectedColumnsQuestion:
    """What to do about columns of the tables that nothing but a `select` has ever made.

    No row asks; who starts does, for such a column may be selected no more.
    """

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrappedQuestion:
    """What the decoder asks of a message that is in an envelope's bytes."""

    question: "Question"


@dataclass(frozen=True, slots=True)
class RowKeyQuestion:
    """As a question about a row's value, but about its key: that of a row without a value."""

    schema_id: int
    path: tuple[int, ...] = ()
    """As of a `MessageQuestion`; empty if the id itself is asked about."""


Question: TypeAlias = (
    SchemaIdQuestion
    | MessageQuestion
    | RowKeyQuestion
    | NewColumnsQuestion
    | UnknownNamesQuestion
    | KeptTypesQuestion
    | KnownVersionsQuestion
    | SelectedColumnsQuestion
    | ExpressionQuestion
    | WrappedQuestion
)
"""What a decoder may ask. Hashable and picklable; `silver.questions` carries them to the driver."""
