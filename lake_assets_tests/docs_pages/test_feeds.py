import pytest
from pydantic import BaseModel

from docs_pages.feeds import page
from docs_pages.fields import described
from lake_assets.model.base import Noun
from lake_assets.model.checks import DatasetCheck
from lake_assets.model.feeds import Feed
from lake_assets.model.freshness import Fresh
from lake_assets.model.one_source import OneSource
from lake_assets.model.payload import OneFormat
from lake_assets.model.subjects import OfSubjects
from lake_assets.model.wrapped import WrappedIn

BASES = {DatasetCheck, Fresh, OfSubjects, OneFormat, OneSource, WrappedIn}
"""What only others are made of."""


def subclasses(model: type[BaseModel]) -> set[type[BaseModel]]:
    return {it for child in model.__subclasses__() for it in (child, *subclasses(child))}


DECLARED = sorted(
    {it for it in subclasses(Noun) if it.__module__.startswith("lake_assets.model")} - BASES,
    key=lambda it: it.__name__,
)


@pytest.mark.parametrize("model", DECLARED)
def test_every_model_of_a_feed_has_a_section_with_all_its_fields(model):
    assert Feed in DECLARED
    _, rest = page().split(f"\n## {model.__name__}\n")
    section = rest.split("\n## ")[0]
    names = [field.alias or name for name, field in model.model_fields.items()]
    assert [name for name in names if f"| `{name}` |" not in section] == []


@pytest.mark.parametrize("model", DECLARED)
def test_every_field_says_what_it_is_for(model):
    assert [name for name in model.model_fields if not described(model, name)] == []


def test_a_link_to_a_model_is_a_link_to_its_heading():
    assert "| `source` | [Source](#source) | required | Where its rows come from. |" in page()
    assert "\n## Route\n" in page()
