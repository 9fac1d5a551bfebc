"""Functions that are imported when they are called: what runs, sensors and schedules do.

Each run of Dagster loads the code location again, so what only a run needs must not be imported by
a load: Kafka's client, Spark, Arrow, sqlalchemy and most of the core. The modules of `defs` import
from here as from anywhere, `from lake_assets.defs.lazy_imports import maintain`; what they get is a
function that imports the real one at its first call. Type checkers see the real one.

To add a function, name it in `MODULES`, under `TYPE_CHECKING` and in `__all__`. Classes can be made
through here, and nothing else: a type that is only said in an annotation is imported under
`TYPE_CHECKING`, and its annotation quoted. `lake_assets_tests/test_definitions_imports.py` fails
where a load imports what is heavy.
"""

from collections.abc import Callable, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lake_assets.alerts.alert_round import go_round
    from lake_assets.alerts.forecast_facts import horizon_of, look_ahead
    from lake_assets.alerts.lake_facts import look_at_lake, sink_seen
    from lake_assets.backup.scheduled import back_up_on_schedule, target_of
    from lake_assets.catalog.sync import sync
    from lake_assets.defs.internals.check_records import give_way
    from lake_assets.defs.internals.purge import can_purge, purge_run
    from lake_assets.erasure.asked import Request
    from lake_assets.erasure.audit import audit, has_work
    from lake_assets.erasure.proved import prove_erased
    from lake_assets.erasure.run import erase
    from lake_assets.erasure.values_file import values_in
    from lake_assets.gold.status import behind_since, never_computed, views_behind
    from lake_assets.logs.gaps import recorded_gaps
    from lake_assets.maintenance.run import maintain
    from lake_assets.query.whole_tables import arrow_rows, spark_rows
    from lake_assets.runtime.log_lines import log_lines
    from lake_assets.services.control import locate
    from lake_assets.silver.recount_expectations import recheck
    from lake_assets.spark.lent_session import KeptSession
    from lake_assets.streams.refresh import check_gold, check_silver, refresh_gold
    from lake_assets.streams.reprocess import rebuild_silver
    from lake_assets.streams.run_feed import run_feed
    from lake_assets.streams.run_need import is_run_needed
    from lake_assets.streams.source_standing import seconds_behind, source_standing
    from lake_assets.streams.wait_for_services import wait_for_services

__all__ = [
    "KeptSession",
    "Request",
    "arrow_rows",
    "audit",
    "back_up_on_schedule",
    "behind_since",
    "can_purge",
    "check_gold",
    "check_silver",
    "erase",
    "give_way",
    "go_round",
    "has_work",
    "horizon_of",
    "is_run_needed",
    "locate",
    "log_lines",
    "look_ahead",
    "look_at_lake",
    "maintain",
    "never_computed",
    "prove_erased",
    "purge_run",
    "rebuild_silver",
    "recheck",
    "recorded_gaps",
    "refresh_gold",
    "run_feed",
    "seconds_behind",
    "sink_seen",
    "source_standing",
    "spark_rows",
    "sync",
    "target_of",
    "values_in",
    "views_behind",
    "wait_for_services",
]

MODULES = {
    "lake_assets.alerts.alert_round": ("go_round",),
    "lake_assets.alerts.forecast_facts": ("horizon_of", "look_ahead"),
    "lake_assets.alerts.lake_facts": ("look_at_lake", "sink_seen"),
    "lake_assets.backup.scheduled": ("back_up_on_schedule", "target_of"),
    "lake_assets.catalog.sync": ("sync",),
    "lake_assets.defs.internals.check_records": ("give_way",),
    "lake_assets.defs.internals.purge": ("can_purge", "purge_run"),
    "lake_assets.erasure.asked": ("Request",),
    "lake_assets.erasure.audit": ("audit", "has_work"),
    "lake_assets.erasure.proved": ("prove_erased",),
    "lake_assets.erasure.run": ("erase",),
    "lake_assets.erasure.values_file": ("values_in",),
    "lake_assets.gold.status": ("behind_since", "never_computed", "views_behind"),
    "lake_assets.logs.gaps": ("recorded_gaps",),
    "lake_assets.maintenance.run": ("maintain",),
    "lake_assets.query.whole_tables": ("arrow_rows", "spark_rows"),
    "lake_assets.runtime.log_lines": ("log_lines",),
    "lake_assets.services.control": ("locate",),
    "lake_assets.silver.recount_expectations": ("recheck",),
    "lake_assets.spark.lent_session": ("KeptSession",),
    "lake_assets.streams.refresh": ("check_gold", "check_silver", "refresh_gold"),
    "lake_assets.streams.reprocess": ("rebuild_silver",),
    "lake_assets.streams.run_feed": ("run_feed",),
    "lake_assets.streams.run_need": ("is_run_needed",),
    "lake_assets.streams.source_standing": ("seconds_behind", "source_standing"),
    "lake_assets.streams.wait_for_services": ("wait_for_services",),
}
"""By module, what of it is called from here."""


def lazy(module: str, name: str) -> Callable[..., Any]:
    """What calls a module's function, and imports the module for that."""

    def call(*args: object, **kwargs: object) -> object:
        return getattr(import_module(module), name)(*args, **kwargs)

    call.__module__, call.__name__, call.__qualname__ = module, name, name
    return call


def _fill(names: MutableMapping[str, object]) -> None:
    for module, functions in MODULES.items():
        names.update({function: lazy(module, function) for function in functions})


if not TYPE_CHECKING:
    _fill(globals())
