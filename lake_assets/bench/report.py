"""What a benchmark found: seconds of every run, and what follows from their medians."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from lake_assets.bench.floor import FLOOR


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
    """Bytes of all values of a topic, framing included; the mean of the topics."""

    machine: Machine
    runs: Mapping[int, Mapping[str, Sequence[float]]]
    """Seconds of each run, by number of tables and measure."""

    @property
    def measures(self) -> list[str]:
        """What was measured."""
        return list(dict.fromkeys(name for by_measure in self.runs.values() for name in by_measure))

    def seconds(self, measure: str, tables: int) -> float:
        """Median of the runs."""
        return median(self.runs[tables][measure])

    def ratio(self, measure: str, tables: int) -> float | None:
        """How many times the floor's median it takes; None if the floor was not run."""
        if FLOOR not in self.runs[tables]:
            return None
        return self.seconds(measure, tables) / self.seconds(FLOOR, tables)

    def as_json(self) -> dict[str, object]:
        """The report as one JSON object; numbers of tables are strings, as JSON wants keys."""
        seconds = {
            measure: {str(n): round(self.seconds(measure, n), 3) for n in self.runs}
            for measure in self.measures
        }
        speeds = {
            measure: {str(n): round(self.events / self.seconds(measure, n)) for n in self.runs}
            for measure in self.measures
        }
        ratios = {
            measure: {str(n): round(r, 3) for n in self.runs if (r := self.ratio(measure, n))}
            for measure in self.measures
            if measure != FLOOR
        }
        return {
            "events": self.events,
            "value_bytes": self.value_bytes,
            "machine": asdict(self.machine),
            "ratio_to_floor": {measure: found for measure, found in ratios.items() if found},
            "seconds": seconds,
            "events_per_s": speeds,
            "tables": {str(n): {m: seconds[m][str(n)] for m in self.measures} for n in self.runs},
            "runs": {
                str(n): {m: [round(s, 3) for s in spent] for m, spent in by_measure.items()}
                for n, by_measure in self.runs.items()
            },
        }
