"""What is measured beside the peers' times, by the name that `--only` knows it by."""

from collections.abc import Callable, Mapping

from lake_assets.bench.latency import LATENCY, measure_latency
from lake_assets.bench.memory import MEMORY, measure_memory
from lake_assets.bench.refresh import REFRESH, measure_refresh
from lake_assets.bench.section import Section
from lake_assets.bench.small import SMALL, measure_small
from lake_assets.bench.venue import Venue

SECTIONS: Mapping[str, Callable[[Venue], Section]] = {
    REFRESH: measure_refresh,
    SMALL: measure_small,
    LATENCY: measure_latency,
    MEMORY: measure_memory,
}
"""In the order in which they run and are told."""
