"""A feed's expectations compiled for some columns: for Arrow where it can judge, else for Spark.

What an expectation means is `silver.expectation_marks`'s and `silver.catalyst_to_arrow`'s; what
follows from a row that violates one, `silver.apply_expectations`'s.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import SparkSession

from lake_assets.model.expectations import Expectation
from lake_assets.silver.catalyst_to_arrow import Program, program_of
from lake_assets.silver.expectation_columns import Reading
from lake_assets.silver.expectation_marks import reading_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """Expectations, for some columns."""

    columns: pa.Schema
    reading: Reading
    program: Program | None
    """None where Spark judges."""


@dataclass(slots=True)
class Compiler:
    """Compiles a feed's expectations again only if the columns or the time ask for it."""

    expectations: Sequence[Expectation]
    last: Compiled | None = None
    _is_spark_asked: bool = False

    def compiled(self, session: SparkSession, columns: pa.Schema) -> Compiled:
        """The expectations for these columns.

        Raises:
            FeedError: one does not fit them.
        """
        known = self.last
        if known is None or known.columns != columns:
            reading = reading_of(session, columns, self.expectations)
            known = Compiled(columns=columns, reading=reading, program=None)
        elif not (known.program and known.program.is_fleeting):
            return known
        program = None
        if not self._is_spark_asked:
            program = program_of(session, columns, self.expectations)
        self.last = replace(known, program=program)
        return self.last

    def ask_spark(self) -> None:
        """Let Spark judge from now on: values came that Arrow does not, and such come again."""
        self._is_spark_asked, self.last = True, None

    def forget(self) -> None:
        """Compile again before the next rows."""
        self.last = None
