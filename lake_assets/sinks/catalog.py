"""Which kind of sink a feed declares, and what delivers to it."""

from collections.abc import Callable

from pydantic import SecretStr

from lake_assets.model.sinks import Sink
from lake_assets.sinks.base import Target
from lake_assets.sinks.rest.reach import ensure_reachable
from lake_assets.sinks.rest.target import RestTarget


def target_of(sink: Sink, look_up: Callable[[str], SecretStr]) -> Target:
    """What delivers to a sink.

    Args:
        sink: as it is declared.
        look_up: knows secrets by their environment variables.

    Raises:
        SettingsError: a secret is not there.
        SinkError: it cannot be called as it is declared.
    """
    return RestTarget(sink.rest, look_up)


def ensure_sink_reachable(
    sink: Sink, look_up: Callable[[str], SecretStr], *, within_s: float
) -> None:
    """Make sure that a sink can be reached from this process; nothing is sent.

    Raises:
        SettingsError: a secret is not there.
        SinkError: it cannot be reached.
    """
    ensure_reachable(sink.rest, look_up, within_s=within_s)
