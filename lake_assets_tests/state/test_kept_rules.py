import pytest

from lake_assets.state.kept_rules import digests, is_kept, merged

OLD, OURS, THEIRS = "old", "ours", "theirs"


@pytest.mark.parametrize(
    ("base", "here", "there", "of_writer", "of_other"),
    [
        (OLD, OLD, OLD, OLD, OLD),
        (OLD, OURS, OLD, OURS, OURS),
        (OLD, OLD, THEIRS, THEIRS, THEIRS),
        (OLD, OURS, THEIRS, OURS, THEIRS),
        (OLD, OURS, OURS, OURS, OURS),
        (None, OURS, None, OURS, OURS),
        (None, None, THEIRS, THEIRS, THEIRS),
        (None, OURS, THEIRS, OURS, THEIRS),
        (OLD, None, OLD, None, None),
        (OLD, OLD, None, None, None),
        (OLD, None, THEIRS, None, THEIRS),
        (OLD, OURS, None, OURS, None),
    ],
)
@pytest.mark.parametrize("is_writer", [True, False])
def test_what_changed_is_taken_and_the_writer_s_where_both_did(
    base, here, there, of_writer, of_other, is_writer
):
    def files(text):
        return {} if text is None else {"a": text}

    both = merged(digests(files(base)), files(here), files(there), is_writer=is_writer)
    wanted = of_writer if is_writer else of_other
    assert both.there == files(wanted)
    assert dict(both.here) == ({} if wanted == here else {"a": wanted})


@pytest.mark.parametrize("is_writer", [True, False])
def test_where_nothing_is_known_of_before_the_bucket_counts_for_all(is_writer):
    both = merged(None, {"a": OURS, "b": OURS}, {"a": THEIRS, "c": THEIRS}, is_writer=is_writer)
    assert both.there == {"a": THEIRS, "c": THEIRS}
    assert dict(both.here) == {"a": THEIRS, "b": None, "c": THEIRS}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("alerts.json", True),
        ("failing/games.json", True),
        ("sinks/games-api.json", True),
        ("failing/.games.json.x1y2", False),
        ("failing/deep/games.json", False),
        ("heartbeat.json", False),
        ("checkpoints/games.json", False),
        ("lake.json", False),
    ],
)
def test_what_is_kept(name, wanted):
    assert is_kept(name) is wanted
