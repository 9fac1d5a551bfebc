"""Numbers as JSON has them: text of any length and exactness, until a column says what they are."""

import math

_LONGEST = 40
"""Characters of an integer that Python reads as one; more fit no column but as text or double."""

_BIGINT = range(-(2**63), 2**63)


class Number(str):
    """A number that is no short integer, as it stands in the value: `1.50`, `1e400`."""

    __slots__ = ()

    @property
    def is_integer(self) -> bool:
        """Whether it is written as an integer; `1.0` and `1e3` are not."""
        return self.removeprefix("-").isdecimal()

    def as_double(self) -> float | None:
        """The nearest double, or None if there is none: `1e400`."""
        double = float(self)
        return double if math.isfinite(double) else None


NEGATIVE_ZERO = Number("-0")
"""An integer in JSON; kept, since a double has a sign for it and Python's integers have none."""


def integer(text: str) -> "int | Number":
    """What the parser makes of digits; Python takes long ones for an attack."""
    return int(text) if len(text) <= _LONGEST and text != NEGATIVE_ZERO else Number(text)


def is_bigint(value: int) -> bool:
    """Whether it fits 64 bits."""
    return value in _BIGINT
