from dataclasses import replace

import pytest

from lake_assets.state.batch_strikes import (
    BatchRange,
    Strikes,
    forget_strikes,
    read_strikes,
    strikes_file,
    write_strikes,
)

STRIKES = Strikes(
    batch=BatchRange(begin="[3]", end="9", words="versions 4 to 9 of bronze_games"),
    errors=2,
    cause="no",
    until="9",
)


@pytest.fixture
def file(tmp_path):
    return strikes_file(tmp_path, "games", "demux")


def test_strikes_are_kept_until_they_are_forgotten(file):
    assert read_strikes(file) is None
    write_strikes(file, STRIKES)
    assert read_strikes(file) == STRIKES
    write_strikes(file, replace(STRIKES, deaths=1))
    assert read_strikes(file).count == 3
    forget_strikes(file)
    assert read_strikes(file) is None


def test_stages_and_feeds_have_files_of_their_own(tmp_path):
    stages = ("games", "demux"), ("games", "ingest"), ("fitness", "demux")
    assert len({strikes_file(tmp_path, *one) for one in stages}) == 3


@pytest.mark.parametrize("text", ["", "{", '{"errors": 3}', "[]"])
def test_a_torn_file_counts_nothing(file, text):
    file.parent.mkdir()
    file.write_text(text)
    assert read_strikes(file) is None


def test_where_nothing_can_be_written_nobody_counts(tmp_path):
    (tmp_path / "batches").write_text("no folder")
    file = strikes_file(tmp_path, "games", "demux")
    write_strikes(file, STRIKES)
    assert read_strikes(file) is None
    forget_strikes(file)
