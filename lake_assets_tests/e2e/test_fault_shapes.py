from dataclasses import fields

from lake_assets_tests.e2e.fault_shapes import SHAPES, Shape

SEQUENCES = 4
"""That the suite tries if nobody says otherwise."""


def test_each_thing_is_of_a_shape_that_the_suite_tries():
    tried = [found[seed % len(found)] for found in SHAPES.values() for seed in range(SEQUENCES)]
    for thing in fields(Shape):
        assert len({getattr(shape, thing.name) for shape in tried}) > 1, thing.name


def test_what_a_feed_refuses_is_of_no_shape():
    for shape in (shape for found in SHAPES.values() for shape in found):
        assert not (shape.own and (shape.explodes or shape.transforms or shape.selects))
        assert not (shape.selects and shape.explodes)


def test_longer_runs_have_each_shape_of_one_feed_with_each_of_the_other():
    games, cards = SHAPES.values()
    pairs = {(seed % len(games), seed % len(cards)) for seed in range(len(games) * len(cards))}
    assert len(pairs) == len(games) * len(cards)
