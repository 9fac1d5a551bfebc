"""What fails of a feed at present; `state.failing_expectations` keeps it between processes."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from lake_assets.model.checks import Severity


@dataclass(frozen=True, kw_only=True, slots=True)
class Failing:
    """A failure that lasts."""

    since: datetime
    """When it failed after it had last passed; a restart does not begin again."""

    severity: Severity
    words: str
    version: int | None
    """Version of silver that a check looked at; None of an expectation, which looks at batches."""


Failures: TypeAlias = dict[tuple[str, str], Failing]
"""By key and name."""
