"""What is measured beside the peers' times, by the name that `--only` knows it by."""

from collections.abc import Callable, Mapping

from benchmarks.cluster import CLUSTER, measure_cluster
from benchmarks.cost import COST, measure_cost
from benchmarks.endurance import ENDURANCE, measure_endurance
from benchmarks.erasure import ERASURE, measure_erasure
from benchmarks.file_formats import FILE_FORMATS, measure_file_formats
from benchmarks.files import FILES, measure_files
from benchmarks.keyed import KEYED, measure_keyed
from benchmarks.latency import LATENCY, measure_latency
from benchmarks.memory import MEMORY, measure_memory
from benchmarks.refresh import REFRESH, measure_refresh
from benchmarks.rest import REST, measure_rest
from benchmarks.scheduled import SCHEDULED, measure_scheduled
from benchmarks.section import Section
from benchmarks.small import SMALL, measure_small
from benchmarks.store import STORE, measure_store
from benchmarks.venue import Venue

SECTIONS: Mapping[str, Callable[[Venue], Section]] = {
    REFRESH: measure_refresh,
    SMALL: measure_small,
    FILE_FORMATS: measure_file_formats,
    KEYED: measure_keyed,
    LATENCY: measure_latency,
    MEMORY: measure_memory,
    STORE: measure_store,
    FILES: measure_files,
    REST: measure_rest,
    SCHEDULED: measure_scheduled,
    COST: measure_cost,
    ERASURE: measure_erasure,
    CLUSTER: measure_cluster,
    ENDURANCE: measure_endurance,
}
"""In the order in which they run and are told."""

_LONG = frozenset({STORE, FILES, KEYED, REST, SCHEDULED, COST, ERASURE, CLUSTER, ENDURANCE})

USUAL_SECTIONS = tuple(name for name in SECTIONS if name not in _LONG)
"""Those that run if nothing else is asked for; the others take minutes to an hour by themselves."""
