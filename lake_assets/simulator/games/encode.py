"""Draws to the bytes that go to Kafka, at 300,000 events/s a core."""

from collections.abc import Mapping
from typing import Any

from lake_assets.simulator.games.population import Draws, Population
from lake_assets.simulator.games.schema import custom_column, message_class

_NANOS = 1_000_000_000


class Encoder:
    """Encodes events of one world; keeps a message of each version and fills it again."""

    def __init__(self, population: Population) -> None:
        """Prepare what all messages share."""
        self._games = population.games
        self._players = [
            (player.gamer_id, player.device_id, player.gamer_id.encode())
            for player in population.players
        ]
        self._texts = population.texts
        self._messages: dict[int, Any] = {}

    def encode(
        self, draws: Draws, *, first_s: float, spacing_s: float, prefixes: Mapping[int, bytes]
    ) -> list[dict[str, Any]]:
        """Framed messages as `Producer.produce_batch` takes them.

        The key is the player, so that Kafka keeps a player's events in order; keyed by game, the
        most popular game would fill one partition.

        Args:
            draws: the events.
            first_s: time of the first, in seconds since 1970.
            spacing_s: seconds from one event to the next.
            prefixes: framing of each version drawn.
        """
        # Nanoseconds since 1970 need 61 bits, which a float has not.
        offsets = (draws.jitter * spacing_s * _NANOS).astype("int64")
        start, step = int(first_s * _NANOS), spacing_s * _NANOS
        events = zip(
            draws.game.tolist(),
            draws.player.tolist(),
            draws.text.tolist(),
            draws.version.tolist(),
            offsets.tolist(),
            strict=True,
        )
        values = []
        for index, (game, player, text, version, offset) in enumerate(events):
            message = self._message(version)
            gamer_id, device_id, key = self._players[player]
            message.game_name = self._games[game]
            message.gamer_id = gamer_id
            message.device_id = device_id
            at = message.event_timestamp
            at.seconds, at.nanos = divmod(start + int(index * step) + offset, _NANOS)
            for added in range(1, version + 1):
                setattr(message, custom_column(added), self._texts[text])
            values.append({"key": key, "value": prefixes[version] + message.SerializeToString()})
        return values

    def _message(self, version: int) -> Any:  # noqa: ANN401 - its class is made at run time
        message = self._messages.get(version)
        if message is None:
            message = self._messages[version] = message_class(version)()
        return message
