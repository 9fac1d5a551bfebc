"""Asking running streams how they are: where their metrics are, and what they answer."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from lake_assets.errors import ServiceError
from lake_assets.metrics.snapshot import Scrape
from lake_assets.settings.schema import Settings
from lake_assets.state.files import current_heartbeat, is_locked, read_heartbeat

_TIMEOUT_S = 10.0
"""For an answer. The first after a while takes up to 3 s, since something is measured for it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What streams said of themselves."""

    scrape: Scrape
    problems: Mapping[str, str]
    """Why they are not ready, by what it is about; empty if they are."""


def metrics_address(settings: Settings) -> str:
    """Where the streams of this lake serve their metrics, by their heartbeat.

    Raises:
        ServiceError: no streams run, or they serve none that can be found from here.
    """
    beat, state = current_heartbeat(settings.state_dir), settings.state_dir
    if not is_locked(state):
        raise ServiceError(
            "streams",
            f"none run for the lake {settings.lake_root}",
            "Start them: `lake-assets stream`, or turn on Dagster's sensor `supervisor`",
        )
    if beat is None:
        fact = "run on another machine or in a container" if read_heartbeat(state) else "begin"
        step = "Name the address of their metrics: --url http://host:port; or wait a moment"
        raise ServiceError("streams", f"{fact}, and say nothing that holds here", step)
    if beat.metrics is None:
        raise ServiceError(
            "streams",
            f"run (pid {beat.pid}), and serve no metrics",
            "Their log says why: the port was taken (LAKE_ASSETS_METRICS_PORT), or "
            "LAKE_ASSETS_METRICS_SERVE is false. Start them again with another",
        )
    return beat.metrics


def ask(address: str) -> Answer:
    """Ask streams for their metrics, and whether they are ready.

    Raises:
        ServiceError: they do not answer as streams do.
    """
    try:
        with httpx.Client(base_url=address, timeout=_TIMEOUT_S, trust_env=False) as client:
            metrics = client.get("/metrics").raise_for_status()
            ready = client.get("/readyz").json()
        scrape = Scrape.parse(metrics.text, time.monotonic())
        problems = {str(about): str(why) for about, why in ready["problems"].items()}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as problem:
        raise ServiceError(
            address,
            f"does not answer as streams do ({str(problem) or type(problem).__name__})",
            "They may have just ended, or begin; try again",
        ) from problem
    return Answer(scrape, problems)
