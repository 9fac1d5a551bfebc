"""Names that must not be given twice."""


def refuse_twins(kind: str, names: list[str]) -> None:
    """Raise a ValueError if two of the names are equal."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"two {kind} are called {', '.join(twice)}"
        raise ValueError(message)
