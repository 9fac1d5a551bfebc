"""The workload of the feed `fitness`: what fitness trackers measure, as plain JSON.

An event has `time` (ISO 8601, UTC), `version` (of the tracker's software), `model`, `heart_bpm` and
`kcal`. From the second schema version on trackers send `spo2_percent` too, which the shipped feed
does not declare, and one event in 1,000 has text where a number belongs: both are rescued.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from lake_assets.errors import SettingsError
from lake_assets.simulator.workload import Chunk, Indexes

FIELDS = ("time", "version", "model", "heart_bpm", "kcal")
"""What every event has."""

MODELS = ("pulse", "stride", "summit", "tempo", "vita")
"""The models that the shipped simulator knows."""

_TRACKERS = 500
_MODEL_SHARES = (0.34, 0.26, 0.19, 0.13, 0.08)
"""Of a world's trackers, by model; each further model has as many as the last one."""

_BROKEN_EVERY = 1_000
"""One event of so many has a heart rate that is no number, as a loose strap gives."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Trackers:
    """A world's trackers: one entry a tracker in each array."""

    model: Indexes
    resting_bpm: NDArray[np.float64]
    """Normal around 62 with a deviation of 7: resting rates of adults are 50 to 80 mostly."""


class FitnessEvents:
    """A `simulator.workload.Workload` of tracker events, JSON without a registry."""

    def __init__(self, models: Sequence[str] = MODELS, *, seed: int = 0) -> None:
        """Make a world; the same seed makes the same one, and the same events.

        Raises:
            SettingsError: there are no models.
        """
        if not models:
            raise SettingsError(
                "fitness simulator",
                "has no models to make events of",
                "Declare keys in the feed's route, or name some",
            )
        self._models = tuple(models)
        self._random = np.random.default_rng(seed)
        self._trackers = _world(self._random, len(self._models))

    @property
    def keys(self) -> tuple[str, ...]:
        """The models."""
        return self._models

    def prepare(self) -> None:
        """Nothing is registered anywhere."""

    def chunk(
        self, count: int, versions: int, *, first: int, first_s: float, spacing_s: float
    ) -> Chunk:
        """The next events. The key is the tracker, so that Kafka keeps its events in order."""
        random, trackers = self._random, self._trackers
        tracker = random.integers(_TRACKERS, size=count)
        version = random.integers(versions, size=count)
        exertion = random.beta(1.2, 4.0, count)  # mostly at rest, now and then a run
        bpm = np.rint(trackers.resting_bpm[tracker] + 110 * exertion).astype("int64")
        kcal = np.rint(1 + 12 * exertion).astype("int64")  # of a minute: 1 at rest, 13 running
        spo2 = 100 - random.integers(6, size=count)
        at = _EPOCH + timedelta(seconds=first_s)
        columns = (tracker, version, bpm, kcal, spo2)
        messages = []
        for index, (who, built, beats, burnt, oxygen) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            moment = at + timedelta(seconds=index * spacing_s)
            event: dict[str, object] = {
                "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "version": f"1.{built}",
                "model": self._models[trackers.model[who]],
                "heart_bpm": "--" if (first + index + 1) % _BROKEN_EVERY == 0 else beats,
                "kcal": burnt,
            }
            if built > 0:
                event["spo2_percent"] = oxygen
            value = json.dumps(event, separators=(",", ":")).encode()
            messages.append({"key": b"tracker-%d" % who, "value": value})
        return Chunk(messages=messages, keys=trackers.model[tracker], versions=version)


def _world(random: np.random.Generator, models: int) -> _Trackers:
    shares = np.array([*_MODEL_SHARES[:models], *[_MODEL_SHARES[-1]] * (models - 5)][:models])
    return _Trackers(
        model=random.choice(models, _TRACKERS, p=shares / shares.sum()),
        resting_bpm=random.normal(62, 7, _TRACKERS).clip(45, 90),
    )
