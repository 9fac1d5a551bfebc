"""What is measured beside the peers' times, by the name that `--only` knows it by."""

from collections.abc import Callable, Mapping

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
}
"""In the order in which they run and are told."""
