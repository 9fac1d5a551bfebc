"""What a measurement beside the peers' times found: rows of figures, for a table and for JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Figure = str | int | float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One measurement."""

    name: str
    keys: Sequence[str]
    """Which of the columns tell the rows apart."""

    rows: Sequence[Mapping[str, Figure]]
    """All with the same columns, `keys` first."""

    note: str = ""
    """What a reader must know of how it was measured."""

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in their order."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def as_json(self) -> dict[str, object]:
        """Figures below the values of the keys, as `{"2000": {"p50_s": 1.2}}`."""
        figures: dict[str, object] = {"note": self.note} if self.note else {}
        for row in self.rows:
            place = figures
            for key in self.keys:
                place = place.setdefault(str(row[key]), {})  # type: ignore[assignment]
            place |= {name: value for name, value in row.items() if name not in self.keys}
        return figures
