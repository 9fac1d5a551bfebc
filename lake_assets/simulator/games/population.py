"""Who plays what and when: a seeded world, and random draws from it. Nothing in here sends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from faker import Faker
from numpy.typing import NDArray

_PLAYERS = 1000
"""Players of a world. Making one takes 0.1 ms; far fewer would make gold tables look empty."""

_TEXTS = 256
"""Different values of the custom columns."""

_TEXT_LENGTH = 100
"""Characters of a custom column. A value has 57 bytes in version 0 and 102 more in each later one;
over a run of three versions that makes 108 on average, the events of DESIGN's measurements."""

_GAME_SKEW = 0.8
_PLAYER_SKEW = 1.1
"""Zipf exponents: the k-th most popular has 1/k^s of the first one's share. Of 7 games the first
gets a third of the events, the last a fourteenth; of 1,000 players the first gets a sixth."""

_BOTS = 3
_BOT_EVERY = 200
"""The last players of a world are programs: each sends one of so many events, by the clock. That is
1.5 % of all events, and one a second of each at 200 events/s; `suspicious_players` finds them."""

Indexes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Player:
    """Somebody with one device."""

    gamer_id: str
    device_id: str


@dataclass(frozen=True, slots=True)
class Draws:
    """What happened in some events: one entry an event in each array."""

    game: Indexes
    player: Indexes
    text: Indexes
    version: Indexes
    jitter: NDArray[np.float64]
    """Where in its slot of time the event is, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Population:
    """A world; the same seed and games make the same one."""

    games: tuple[str, ...]
    players: tuple[Player, ...]
    texts: tuple[str, ...]

    def draw(self, rng: np.random.Generator, count: int, versions: int, *, first: int) -> Draws:
        """Draw `count` events of versions below `versions`, these evenly.

        `first` is the number of the first event in its run; it tells when programs have their turn.
        """
        drawn = Draws(
            game=rng.choice(len(self.games), count, p=_zipf(len(self.games), _GAME_SKEW)),
            player=rng.choice(len(self.players), count, p=_zipf(len(self.players), _PLAYER_SKEW)),
            text=rng.integers(len(self.texts), size=count),
            version=rng.integers(versions, size=count),
            jitter=rng.random(count),
        )
        bot = np.arange(first, first + count) % _BOT_EVERY
        is_bot = bot < _BOTS
        return replace(
            drawn,
            player=np.where(is_bot, len(self.players) - 1 - bot, drawn.player),
            jitter=np.where(is_bot, 0.0, drawn.jitter),
        )

    @property
    def bots(self) -> tuple[Player, ...]:
        """The players that are programs."""
        return self.players[-_BOTS:]


def populate(games: Sequence[str], seed: int) -> Population:
    """Make a world of 1,000 players with user names and MAC addresses of their own."""
    faker = Faker()
    faker.seed_instance(seed)
    players = tuple(
        Player(gamer_id=faker.unique.user_name(), device_id=faker.unique.mac_address())
        for _ in range(_PLAYERS)
    )
    texts = tuple(
        faker.pystr(min_chars=_TEXT_LENGTH, max_chars=_TEXT_LENGTH) for _ in range(_TEXTS)
    )
    return Population(games=tuple(games), players=players, texts=texts)


def _zipf(count: int, exponent: float) -> NDArray[np.float64]:
    weights = 1.0 / np.arange(1, count + 1, dtype=np.float64) ** exponent
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
