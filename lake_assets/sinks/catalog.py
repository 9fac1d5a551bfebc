"""Which kind of sink a feed declares, and what delivers to it."""

from collections.abc import Callable

from pydantic import SecretStr

from lake_assets.model.sinks import Sink
from lake_assets.sinks.base import Target
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
