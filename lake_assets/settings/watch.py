"""Settings of what lets others see how the streams are: the address of their metrics."""

from pydantic import Field

from lake_assets.settings.group import Group


class MetricsSettings(Group):
    """The HTTP endpoint of the process that runs the streams: `/metrics`, `/healthz`, `/readyz`."""

    serve: bool = True
    """Whether there is one. Nothing is measured for it while nobody asks."""

    host: str = "127.0.0.1"
    """Address that it listens on; `0.0.0.0` for a Prometheus on another machine. It has no login,
    and tells names of feeds and views and reasons of failures."""

    port: int = Field(default=0, ge=0, le=65535)
    """Its port. With 0 any free one, which `lake-assets top` finds, so that two lakes never get in
    each other's way; set one where Prometheus is to find it."""
