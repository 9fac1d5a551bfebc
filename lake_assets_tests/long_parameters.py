"""Parameters of a test that is run with some of them at each push, and with all each night."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def with_long(values: Iterable[Any], long: Container[Any]) -> list[Any]:
    """The values in their order, those of `long` with the mark of that name."""
    return [pytest.param(one, marks=pytest.mark.long) if one in long else one for one in values]
