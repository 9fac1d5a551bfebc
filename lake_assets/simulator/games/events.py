"""The workload of the feed `games`: who plays what, encoded and framed."""

from collections.abc import Sequence

import numpy as np

from lake_assets.model.endpoints import Endpoints
from lake_assets.simulator.games.encode import Encoder
from lake_assets.simulator.games.population import populate
from lake_assets.simulator.games.registration import Registration
from lake_assets.simulator.workload import Chunk


class GameEvents:
    """A `simulator.workload.Workload` of game events, Confluent-framed protobuf."""

    def __init__(
        self, endpoints: Endpoints, subject: str, games: Sequence[str], *, seed: int = 0
    ) -> None:
        """Make a world.

        Args:
            endpoints: where the registry is.
            subject: where schema versions are registered; gets compatibility FULL.
            games: names of the games.
            seed: the same one makes the same world and the same events.
        """
        self._population = populate(games, seed)
        self._encoder = Encoder(self._population)
        self._random = np.random.default_rng(seed)
        self._registration = Registration(endpoints=endpoints, subject=subject)
        self._prefixes: dict[int, bytes] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """The games."""
        return self._population.games

    def prepare(self) -> None:
        """Set the subject's compatibility."""
        self._registration.prepare()

    def chunk(
        self, count: int, versions: int, *, first: int, first_s: float, spacing_s: float
    ) -> Chunk:
        """The next events; versions that come up are registered."""
        for version in range(len(self._prefixes), versions):
            self._prefixes[version] = self._registration.prefix(version)
        draws = self._population.draw(self._random, count, versions, first=first)
        messages = self._encoder.encode(
            draws, first_s=first_s, spacing_s=spacing_s, prefixes=self._prefixes
        )
        return Chunk(messages=messages, keys=draws.game, versions=draws.version)
