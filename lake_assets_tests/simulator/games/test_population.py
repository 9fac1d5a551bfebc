import re
from collections import Counter

import numpy as np
import pytest

from lake_assets.simulator.games.population import Population, populate

GAMES = ("rummy", "spades", "poker")


@pytest.fixture(scope="module")
def world() -> Population:
    return populate(GAMES, seed=1)


def test_the_same_seed_makes_the_same_world(world):
    assert populate(GAMES, seed=1) == world


def test_another_seed_makes_another_world(world):
    assert populate(GAMES, seed=2).players != world.players


def test_players_are_all_different(world):
    assert len({player.gamer_id for player in world.players}) == len(world.players) == 1000


def test_devices_are_mac_addresses(world):
    assert all(re.fullmatch(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", p.device_id) for p in world.players)


def test_the_same_draws_come_from_the_same_generator(world):
    one, two = (world.draw(np.random.default_rng(3), 50, 2, first=0) for _ in range(2))
    assert one.player.tolist() == two.player.tolist()


def test_games_and_players_are_skewed(world):
    draws = world.draw(np.random.default_rng(3), 20_000, 1, first=0)
    games = Counter(draws.game.tolist())
    players = Counter(draws.player.tolist())
    assert games[0] > games[1] > games[2]
    assert players.most_common(1)[0][1] > 20 * 20_000 / len(world.players)


def test_versions_are_drawn_evenly_from_those_in_use(world):
    versions = Counter(world.draw(np.random.default_rng(3), 30_000, 3, first=0).version.tolist())
    assert sorted(versions) == [0, 1, 2]
    assert min(versions.values()) > 9_000


def test_programs_have_their_turns_by_the_clock_however_a_run_is_cut(world):
    whole = world.draw(np.random.default_rng(3), 2_000, 1, first=0)
    parts = [world.draw(np.random.default_rng(4), 500, 1, first=n) for n in range(0, 2_000, 500)]
    for bot in world.bots:
        number = world.players.index(bot)
        steady = whole.player[whole.jitter == 0.0].tolist()
        assert steady.count(number) == 10
        turns = np.flatnonzero((whole.player == number) & (whole.jitter == 0.0))
        assert set(np.diff(turns)) == {200}
        cut = np.concatenate([(p.player == number) & (p.jitter == 0.0) for p in parts])
        assert np.flatnonzero(cut).tolist() == turns.tolist()
