"""Payloads of CSV, as a feed declares them; what else there is, `model.payload` has."""

from typing import ClassVar, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.csv_marks import complaint
from lake_assets.model.ddl import Column, Decimal, Scalar, columns_of_ddl
from lake_assets.model.misfits import RECORD, OnMismatch, refuse_taken


class CsvPayload(Noun):
    """A record of CSV a value, its columns by position; there is no line with names."""

    needs_registry: ClassVar[bool] = False

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    ddl: str = Field(alias="schema", min_length=1)
    """Columns in Spark's DDL, in the order of the fields: `time timestamp, model string, kcal int`.
    Their types are scalars, `binary` aside, and decimals."""

    delimiter: str = ","
    """What stands between two fields; one character of ASCII, as all marks."""

    quote: str = '"'
    """What a field may stand between that has delimiters or lines; a doubled one is one of its
    own. One character, or empty if there is no quoting."""

    escape: str = ""
    """What takes the meaning from the character behind it; one character, or empty for none."""

    null_value: str = ""
    """What a field says, unquoted, that is null. Quoted it is text."""

    on_mismatch: OnMismatch = OnMismatch.RESCUE
    """What becomes of a value that does not fit its column, and of a record that has more or fewer
    fields than there are columns."""

    @field_validator("ddl")
    @classmethod
    def _makes_columns(cls, ddl: str) -> str:
        columns = columns_of_ddl(ddl)
        refuse_taken(columns, RECORD)
        for column in columns:
            if not isinstance(column.type, Scalar | Decimal) or column.type == Scalar("binary"):
                message = (
                    f"{column.name} is of a type that text of CSV has no form of\nuse a scalar"
                )
                raise ValueError(message)
        return ddl

    @model_validator(mode="after")
    def _marks_tell_apart(self) -> Self:
        marks = {"delimiter": self.delimiter, "quote": self.quote, "escape": self.escape}
        if message := complaint(marks, self.null_value):
            raise ValueError(message)
        return self

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""
        return columns_of_ddl(self.ddl)

    @property
    def rescues(self) -> bool:
        """Whether there is a column `_rescued`."""
        return self.on_mismatch is OnMismatch.RESCUE
