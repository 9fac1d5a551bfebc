"""What a benchmark found: seconds of every run, and what follows from their medians."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

from benchmarks.floor import FLOOR
from benchmarks.section import Section


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """Where it ran. Ratios can be carried to another machine, seconds cannot."""

    cpus: int
    memory_gb: float
    load_before: float
    """Load average of the last minute when it began; near `cpus` or above, others ran too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchReport:
    """All runs that count."""

    events: int
    value_bytes: int
    """Bytes of all values of a topic, framing included; the topics' mean, 0 if no peer ran."""

    machine: Machine
    runs: Mapping[int, Mapping[str, Sequence[float]]]
    """Seconds of each run, by number of tables and measure. A peer that does not run with so many
    tables is missing there."""

    files: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """Data files that a run left, by number of tables and peer."""

    sections: Sequence[Section] = ()
    """What was measured beside the peers' times."""

    notes: Sequence[str] = ()
    """What a reader must know: who did not run, and who ran once."""

    @property
    def measures(self) -> list[str]:
        """What was measured."""
        return list(dict.fromkeys(name for by_measure in self.runs.values() for name in by_measure))

    def seconds(self, measure: str, tables: int) -> float:
        """Median of the runs."""
        return median(self.runs[tables][measure])

    def ratio(self, measure: str, tables: int) -> float | None:
        """How many times the floor's median it takes; None if one of the two was not run."""
        if not {FLOOR, measure} <= set(self.runs.get(tables, ())):
            return None
        return self.seconds(measure, tables) / self.seconds(FLOOR, tables)

    def ratios(self) -> dict[str, dict[int, float]]:
        """By measure and number of tables, as far as there are some, without the floor's own."""
        by_measure = {
            measure: {n: r for n in self.runs if (r := self.ratio(measure, n)) is not None}
            for measure in self.measures
            if measure != FLOOR
        }
        return {measure: by_tables for measure, by_tables in by_measure.items() if by_tables}

    def as_json(self) -> dict[str, object]:
        """The report as one JSON object; numbers of tables are strings, as JSON wants keys."""
        seconds = {
            measure: {n: round(self.seconds(measure, n), 3) for n in self._with(measure)}
            for measure in self.measures
        }
        speeds = {
            measure: {n: round(self.events / self.seconds(measure, n)) for n in by_tables}
            for measure, by_tables in seconds.items()
        }
        return {
            "events": self.events,
            "value_bytes": self.value_bytes,
            "machine": asdict(self.machine),
            "ratio_to_floor": {
                measure: {str(n): round(ratio, 3) for n, ratio in by_tables.items()}
                for measure, by_tables in self.ratios().items()
            },
            "seconds": _with_text_keys(seconds),
            "events_per_s": _with_text_keys(speeds),
            "tables": {
                str(n): {m: seconds[m][n] for m in self.measures if n in seconds[m]}
                for n in self.runs
            },
            "runs": {
                str(n): {m: [round(s, 3) for s in durations] for m, durations in by_measure.items()}
                for n, by_measure in self.runs.items()
            },
            "files": {str(n): dict(by_peer) for n, by_peer in self.files.items()},
            **{section.name: section.as_json() for section in self.sections},
            "notes": list(self.notes),
        }

    def _with(self, measure: str) -> list[int]:
        """Numbers of tables for which it was measured."""
        return [n for n, by_measure in self.runs.items() if measure in by_measure]


def _with_text_keys(figures: Mapping[str, Mapping[int, float]]) -> dict[str, dict[str, float]]:
    return {m: {str(n): figure for n, figure in by_n.items()} for m, by_n in figures.items()}
