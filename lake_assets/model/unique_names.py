"""Names that must not be given twice, and fields of which only one may be given."""

from collections.abc import Sequence


def refuse_twins(kind: str, names: list[str]) -> None:
    """Raise a ValueError if two of the names are equal."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"two {kind} are called {', '.join(twice)}"
        raise ValueError(message)


def both(given: Sequence[str]) -> str:
    """That several of some fields are given, for what tells to give one; empty of fewer."""
    return f"{' and '.join(f'`{name}`' for name in given)} are given: " if len(given) > 1 else ""
