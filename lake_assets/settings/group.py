"""What all groups of settings have in common: frozen, complete, and silent about their values."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo, field_validator

from lake_assets.model.cron import setting_complaint


class Group(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,  # a secret may be in it
        allow_inf_nan=False,
    )


class RelatedGroup(Group, ABC):
    """A group in which each field is judged together with those before it."""

    model_config = ConfigDict(validate_default=True)  # what is unset may be missing

    @staticmethod
    @abstractmethod
    def complaint(field: str, value: Any, before: Mapping[str, Any]) -> str | None:  # noqa: ANN401
        """What is wrong with a field's value, given those before it, or None."""

    @field_validator("*")
    @classmethod
    def _fields_go_together(cls, value: Any, given: ValidationInfo) -> Any:  # noqa: ANN401
        refuse(cls.complaint(str(given.field_name), value, given.data))
        return value


def refuse(complaint: str | None) -> None:
    """Tell pydantic of a complaint, if there is one.

    Raises:
        ValueError: there is.
    """
    if complaint:
        raise ValueError(complaint)


def _is_cron(value: str) -> str:
    refuse(setting_complaint(value))
    return value


Cron = Annotated[str, AfterValidator(_is_cron)]
"""When Dagster does something: a cron expression, in UTC."""
