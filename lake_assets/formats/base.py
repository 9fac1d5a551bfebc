"""The contract between demux and a payload format: what a format is asked for, and by whom.

On the driver a `PayloadFormat` finds what is known of a feed's schemas, opaque to everybody else,
and plans a `Decoder` from it. The decoder is pickled, decodes in Spark's workers, and asks nobody:
what it has no answer for comes back as a `Question`. Demux has the questions answered on the
driver, plans again and runs the same batch again, before anything of it is committed.

Nothing here knows a format; `formats.catalog` alone maps what a feed declares to one.
Docs: `docs/decisions/0032-what-a-payload-format-is.md`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.questions import Question
from lake_assets.model.endpoints import RegistryAccess


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoded:
    """The answer for each row, in the order of the input.

    A row is decoded, refused (`reason`) or open (`question`), and never two of these.
    """

    columns: pa.RecordBatch
    """`Decoder.columns`; null where a row was not decoded. Counts the rows also where no column is
    yet."""

    reason: pa.Array
    """string: a `model.quarantine.Reason`, or null."""

    detail: pa.Array
    """string: what the reason means for this row, or null."""

    question: pa.Array
    """int32: index into `questions`, or null, as it mostly is."""

    questions: tuple[Question, ...] = ()
    """Distinct ones."""

    message: pa.Array | None = None
    """integer: index into `messages`, null where a row was not decoded; None of a format that has
    no message types."""

    messages: tuple[str, ...] = ()
    """Full names of message types, the newest where one was renamed."""

    given: pa.RecordBatch | None = None
    """What the feed's `transform` was given where it made the columns; None of decoded ones."""

    clear: pa.RecordBatch | None = None
    """Those of `columns` that are hidden in it, as they were before; None where none is."""

    def __post_init__(self) -> None:
        """Count the rows where there is no column: Arrow puts none together as no rows."""
        if not self.columns.num_columns:
            rows = pa.nulls(len(self.reason), pa.struct([]))
            object.__setattr__(self, "columns", pa.RecordBatch.from_struct_array(rows))


class Decoder(Protocol):
    """What decodes in the workers: picklable, and without any access to the outside."""

    @property
    def columns(self) -> pa.Schema:
        """Columns of the decoded rows, all nullable; tables are made or widened to hold them."""

    @property
    def unused(self) -> pa.Schema:
        """Further columns that schemas have and no row has used yet.

        No table has them; conditions may read them as nulls.
        """

    @property
    def renames(self) -> Renames:
        """Older names of columns, under which rows may have been stored."""

    @property
    def has_waiting(self) -> bool:
        """Whether it gives rows `Reason.WAITING`, for which a table must be there."""

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows; no row makes another fail.

        A row's answer depends on its bytes and on this plan alone: a batch that runs again, or is
        cut elsewhere, gives the same rows. Called often, in any process, in any order.

        Args:
            batch: at least the columns `FormatType.reads`.
        """


@runtime_checkable
class HasMessageColumns(Protocol):
    """What a decoder also is whose rows are of message types."""

    @property
    def message_columns(self) -> Mapping[str, frozenset[str]]:
        """By name of a type as in `Decoded.messages`, the columns that its rows may have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What formats may use outside of a feed; none needs to be there before it is asked."""

    registry: str = ""
    """Base URL of a schema registry."""

    registry_access: RegistryAccess
    cache: Path | None = None
    """Folder where answers are kept, so that a restart can do without; None keeps none."""

    taken: tuple[str, ...] = ()
    """Names of columns that tables have beside those of their rows."""

    brought: Callable[[], Sequence[tuple[int, str]]] = tuple
    """The schemas that rows bring with them, by the `schema_id` of these, in the order in which
    they came; by default none.

    Raises:
        LakeError: nobody can tell.
    """

    has_rows: Callable[[], bool] = bool
    """Whether tables have had rows yet; asked until they have. By default they have not.

    Raises:
        LakeError: nobody can tell.
    """


Schemas = TypeVar("Schemas")
"""What a format knows of a feed's schemas. Immutable; only the format looks inside."""


class SchemaSource(Protocol[Schemas]):
    """What may ask the outside about a feed's schemas: its format, or one who waits for that.

    `RegistryError` passes by itself: callers ask again, or let rows wait (`let_wait`).
    """

    def newest(self) -> Schemas:
        """What is known of the schemas now; asked when demux starts.

        Raises:
            RegistryError: no answer, or no schema that makes columns.
        """

    def resolve(self, schemas: Schemas, questions: frozenset[Question]) -> Schemas:
        """The same with an answer to each question: none of them is raised again by the new plan.

        Raises:
            RegistryError: no answer; nothing has changed.
            UnknownColumnsError: rows have names at which the feed is to stop.
        """

    def check(self) -> None:
        """Make sure that `resolve` would have an answer.

        Raises:
            RegistryError: it would not.
        """


class PayloadFormat(SchemaSource[Schemas], Protocol[Schemas]):
    """One feed's values: how schemas are found, and planned into a decoder.

    Beside what it is as a `SchemaSource`, it is pure.
    """

    def for_next_batch(self, schemas: Schemas, now: float) -> Schemas:
        """The same without answers that may have changed by `now`, in seconds since 1970."""

    def let_wait(self, schemas: Schemas, questions: frozenset[Question]) -> Schemas:
        """The same where rows wait whose questions only the outside can answer."""

    def plan(self, schemas: Schemas, have: pa.Schema, route: Sequence[str]) -> Decoder:
        """Decide how rows are decoded, and which columns the tables need for them.

        Args:
            schemas: what is known.
            have: the decoded columns that the tables have; they stay, and keep their types or get
                wider ones (`formats.schema_merge`).
            route: columns that say where a row goes; rows of schemas without them are refused.

        Raises:
            RegistryError: no schema makes columns.
            LakeError: the columns do not go with those that the tables have.
        """

    def made_by(self, schemas: Schemas, route: Sequence[str]) -> list[pa.Schema]:
        """The columns that each kind of row makes, whatever tables have; others are unused."""


class FormatType(Protocol):
    """A payload format before it is made for a feed: the class of one."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns of bronze that decoding reads, as a variable of the class.

        With `schema_id`, ingest reads that from the framing; else it is null. What quarantine does
        not keep cannot be among them: rows are requeued there.
        """

    def of(self, feed: str, declared: Any, surroundings: Surroundings) -> PayloadFormat[Any]:  # noqa: ANN401
        """Made for a feed, from what its `payload` says under the format's name; asks nobody."""
