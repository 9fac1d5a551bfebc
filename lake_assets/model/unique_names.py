"""Names that must not be given twice, and fields of which only one may be given."""

from collections.abc import Sequence


def refuse_twins(kind: str, names: list[str]) -> None:
    """Raise a ValueError if two of the names are equal."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"two {kind} are called {', '.join(twice)}\ngive one of them another name"
        raise ValueError(message)


def one_of(given: Sequence[str]) -> str:
    """What is wrong with these of several fields, of which one is to be given; and what to do."""
    if given:
        return f"not {' and '.join(given)}\nremove all but one"
    return "none is given\nadd one of them"


def both(given: Sequence[str]) -> str:
    """That several of some fields are given, empty of fewer."""
    return f"{' and '.join(f'`{name}`' for name in given)} are given" if len(given) > 1 else ""
