import numpy as np

from lake_assets.simulator.games.encode import Encoder
from lake_assets.simulator.games.population import Draws, Player, Population
from lake_assets.simulator.games.schema import message_class

WORLD = Population(
    games=("rummy", "poker"),
    players=(Player("ann", "aa:aa"), Player("bob", "bb:bb")),
    texts=("x", "y"),
)
PREFIXES = {0: b"zero", 2: b"two!"}


def _draws(*, version: list[int]) -> Draws:
    return Draws(
        game=np.array([0, 1]),
        player=np.array([1, 0]),
        text=np.array([1, 0]),
        version=np.array(version),
        jitter=np.array([0.0, 0.5]),
    )


def _encode(version: list[int]) -> list[dict[str, bytes]]:
    return Encoder(WORLD).encode(
        _draws(version=version), first_s=100.0, spacing_s=0.25, prefixes=PREFIXES
    )


def test_events_are_what_was_drawn():
    first, second = _encode([0, 2])
    bob = message_class(0).FromString(first["value"].removeprefix(b"zero"))
    ann = message_class(2).FromString(second["value"].removeprefix(b"two!"))
    assert str(bob) == str(
        message_class(0)(
            game_name="rummy", gamer_id="bob", device_id="bb:bb", event_timestamp={"seconds": 100}
        )
    )
    assert str(ann) == str(
        message_class(2)(
            game_name="poker",
            gamer_id="ann",
            device_id="aa:aa",
            event_timestamp={"seconds": 100, "nanos": 375_000_000},
            col_custom_1="x",
            col_custom_2="x",
        )
    )


def test_a_message_is_keyed_by_its_player():
    assert [message["key"] for message in _encode([0, 0])] == [b"bob", b"ann"]


def test_a_reused_message_keeps_nothing_of_the_last():
    both = Encoder(WORLD).encode(
        _draws(version=[2, 2]), first_s=0.0, spacing_s=1.0, prefixes=PREFIXES
    )
    values = [message_class(2).FromString(m["value"].removeprefix(b"two!")) for m in both]
    assert [str(value).count("col_custom") for value in values] == [2, 2]
    assert ['"y"' in str(value) for value in values] == [True, False]
