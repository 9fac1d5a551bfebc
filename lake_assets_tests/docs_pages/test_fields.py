from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal

import pytest
from pydantic import AliasChoices, BaseModel, Field

from docs_pages.fields import default_in_words, described, models_in, table, type_in_words


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Wheel(BaseModel):
    spokes: int = Field(default=32, ge=1)
    """How many there are.

    More are heavier | stiffer."""


class Cart(Wheel):
    wheels: tuple[Wheel, ...]
    colour: Colour | None = Field(default=None, validation_alias=AliasChoices("colour", "color"))


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (str | None, "text"),
        (dict[str, bool], "mapping of text to `true` or `false`"),
        (tuple[Wheel, ...] | None, "list of [Wheel](#wheel)"),
        (Literal["a", "b"] | dict[int, int], "`a` or `b` or mapping of integer to integer"),
        (Colour, "`red` or `blue`"),
        (Annotated[timedelta, Field(gt=timedelta(0))] | None, "duration, above 0 seconds"),
    ],
)
def test_types_are_said_in_words(annotation, words):
    assert type_in_words(annotation) == words


def test_models_are_found_at_any_depth():
    assert set(models_in(dict[str, tuple[Cart, ...]] | Wheel)) == {Cart, Wheel}


def test_defaults_are_said_as_they_are_written():
    fields = Cart.model_fields
    assert [default_in_words(fields[it]) for it in ("spokes", "wheels", "colour")] == [
        "`32`",
        "required",
        "unset",
    ]


def test_an_inherited_field_says_what_its_class_says():
    assert described(Cart, "spokes").startswith("How many there are.")
    assert described(Cart, "wheels") == ""


def test_a_row_stays_a_row():
    rows = table(Cart, [("spokes", "SPOKES"), ("colour", "colour")], title="field").splitlines()
    text = "How many there are. More are heavier \\| stiffer."
    assert rows[2] == f"| `SPOKES` | integer, at least 1 | `32` | {text} |"
    assert rows[3] == "| `colour` | `red` or `blue` | unset | Also `color`. |"
