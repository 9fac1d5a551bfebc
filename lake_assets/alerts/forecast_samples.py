"""The samples that forecasts are made of, kept between looks in the state folder."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.alerts.forecasts import Sample
from lake_assets.runtime.atomic_write import replace_text

EVERY_S = 60.0
"""Seconds between two looks; each asks the broker for its offsets, 50 ms a topic."""

_KEPT_S = 3_600.0
"""Seconds for which a sample counts: a rate is that of the last hour at most."""

_SAMPLES = TypeAdapter(list[Sample])


def read_samples(state_dir: Path, *, boot: str, now: float) -> list[Sample]:
    """The samples of this boot that count, the oldest first; what cannot be read is none.

    Samples of a later time than now are none either: the folder may be a copy of another machine's
    or of another moment's.
    """
    try:
        samples = _SAMPLES.validate_json(_file(state_dir).read_bytes())
    except (OSError, ValidationError):
        return []
    return [one for one in samples if one.boot == boot and 0 <= now - one.at <= _KEPT_S]


def is_due(samples: Sequence[Sample], now: float) -> bool:
    """Whether it is time for the next look."""
    return not samples or now - samples[-1].at >= EVERY_S


def write_samples(state_dir: Path, samples: Sequence[Sample]) -> None:
    """Keep samples; on a full disk those before stay."""
    with suppress(OSError):
        replace_text(_file(state_dir), _SAMPLES.dump_json(list(samples)).decode())


def _file(state_dir: Path) -> Path:
    return state_dir / "forecast.json"
