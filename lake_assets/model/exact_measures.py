"""Measures that are computed of all rows, `exact median(x)`: the word and what follows it; pure."""

_EXACT = "exact"


def split_exact(sql: str) -> tuple[str, bool]:
    """A measure's SQL without a leading `exact`, and whether there was one.

    `exact median(x)` is no SQL, so no measure means something else by it.
    """
    first, *rest = sql.split(None, 1)
    return (rest[0], True) if rest and first.lower() == _EXACT else (sql, False)
