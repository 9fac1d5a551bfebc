"""What the declared nouns are made of: a frozen base, and the names that may become tables."""

import re
from typing import Annotated, Any, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from lake_assets.model.tables import is_key_name

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")


def _identifier(value: str) -> str:
    if _IDENTIFIER.fullmatch(value) is None:
        message = (
            f"{value!r} is not a name\nuse lower-case letters, digits and _, a letter first, "
            "at most 63"
        )
        raise ValueError(message)
    return value


def _key(value: str) -> str:
    if not is_key_name(value):
        message = f"{value!r} cannot name a table\nuse 1 to 64 lower-case letters, digits and _"
        raise ValueError(message)
    return value


Identifier = Annotated[
    str,
    AfterValidator(_identifier),
    WithJsonSchema({"type": "string", "pattern": f"^{_IDENTIFIER.pattern}$"}),
]
KeyName = Annotated[
    str,
    AfterValidator(_key),
    WithJsonSchema({"type": "string", "pattern": "^[a-z0-9_]{1,64}$"}),
]


def _kinds(annotation: Any) -> set[Any]:  # noqa: ANN401 - annotations have no type of their own
    """The types that a field takes, itself and those within."""
    return {annotation}.union(*map(_kinds, get_args(annotation)))


class Noun(BaseModel):
    """Frozen, and without fields that nobody declared."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,  # a secret may be in it, and Dagster shows errors' causes
    )

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - any
        """Python takes `true` for 1; who writes it means something else."""
        if isinstance(value, bool) and info.field_name is not None:
            kinds = _kinds(cls.model_fields[info.field_name].annotation)
            if bool not in kinds and kinds & {int, float}:
                message = f"is {str(value).lower()}, and no number\nwrite one, such as 3"
                raise ValueError(message)
        return value
