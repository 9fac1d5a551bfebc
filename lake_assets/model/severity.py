"""How bad it is that rows violate an expectation. Pure."""

from lake_assets.model.checks import Severity
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.reports import Judged


def severity_of(expectation: Expectation, judged: Judged) -> Severity | None:
    """None if no row violates it.

    Rows that stop the stream are an error. Quarantined rows are one if they are more than the
    allowed share of what was seen: with 0.05, 5 of 100 are a warning and 6 an error. Rows that are
    kept or dropped are what their author asked for: a warning.
    """
    if not judged.violated:
        return None
    is_over = judged.violated > expectation.allowed_share * judged.seen
    is_error = expectation.action is Action.FAIL or (
        expectation.action is Action.QUARANTINE and is_over
    )
    return Severity.ERROR if is_error else Severity.WARN


def share_in_words(judged: Judged) -> str:
    """`3 of 40 rows violate it (7.5 %)`."""
    return f"{judged.violated:,} of {judged.seen:,} rows violate it ({per_cent(judged):g} %)"


def per_cent(judged: Judged) -> float:
    """Share of the rows that violate it; nothing seen is nothing violated."""
    return round(100.0 * judged.violated / judged.seen, 3) if judged.seen else 0.0
