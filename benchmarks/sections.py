"""What is measured beside the peers' times, by the name that `--only` knows it by."""

from collections.abc import Callable, Mapping

from benchmarks.endurance import ENDURANCE, measure_endurance
from benchmarks.latency import LATENCY, measure_latency
from benchmarks.memory import MEMORY, measure_memory
from benchmarks.refresh import REFRESH, measure_refresh
from benchmarks.section import Section
from benchmarks.small import SMALL, measure_small
from benchmarks.venue import Venue

SECTIONS: Mapping[str, Callable[[Venue], Section]] = {
    REFRESH: measure_refresh,
    SMALL: measure_small,
    LATENCY: measure_latency,
    MEMORY: measure_memory,
    ENDURANCE: measure_endurance,
}
"""In the order in which they run and are told."""

USUAL_SECTIONS = tuple(name for name in SECTIONS if name != ENDURANCE)
"""Those that run if nothing else is asked for; endurance takes an hour by itself."""
