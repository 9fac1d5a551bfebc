import pytest

from lake_assets.backup import place as places
from lake_assets.backup.create import back_up
from lake_assets.backup.progress import Progress
from lake_assets.backup.prune import prune
from lake_assets.errors import LakeError
from lake_assets_tests.backup.lakes import (
    FISH,
    UNO,
    BatchedLake,
    backed_up,
    place_at,
    restored,
    rows_in,
)


@pytest.fixture
def lake(settings):
    made = BatchedLake(settings)
    made.ingest()
    made.demux(UNO, FISH)
    yield made
    made.committer.close()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "place"


def data(place):
    return {path.name for path in (place / "data").rglob("*.parquet")}


def grown(lake, place):
    """Two backups, of which the second has other files than the first."""
    backed_up(lake.settings, place)
    lake.demux(UNO)
    lake.committer.compact(UNO)
    backed_up(lake.settings, place)


def test_older_ones_go_with_what_only_they_had(settings, lake, place, tmp_path):
    grown(lake, place)
    before = data(place)
    back_up(settings, place_at(place), Progress(), keep=2)
    assert place_at(place).numbers() == [2, 3]
    assert len(before - data(place)) == 1  # what was joined since
    stays = (place_at(place).manifest(number) for number in (2, 3))
    names = [name for one in stays for name in (one.folder, f"{one.number:06}.json")]
    assert sorted(path.name for path in (place / "backups").iterdir()) == sorted(names)
    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    for number in (2, 3):
        restored(elsewhere, place, number=number, force=True)
        assert rows_in(elsewhere) == rows_in(settings)


def test_fewer_than_may_stay_all_stay(lake, place):
    grown(lake, place)
    assert prune(place_at(place), 5) == (0, 0)


def test_if_one_that_is_to_stay_is_damaged_nothing_is_deleted(lake, place):
    grown(lake, place)
    before = data(place)
    part = next(place.glob(f"backups/000002-*/{UNO.relative}.json"))
    part.write_text(part.read_text().replace("part-", "tarp-"))
    told = "no older backup was deleted, since .* is damaged .*Bring it back"
    with pytest.raises(LakeError, match=told):
        prune(place_at(place), 1)
    assert (data(place), place_at(place).numbers()) == (before, [1, 2])


def test_what_was_cut_off_goes_the_next_time(lake, place, monkeypatch):
    grown(lake, place)

    class KilledError(BaseException):
        pass

    def die(*_):
        raise KilledError

    monkeypatch.setattr(places.BackupPlace, "data_file", die)
    with pytest.raises(KilledError):
        prune(place_at(place), 1)
    monkeypatch.undo()
    assert place_at(place).numbers() == [2]
    assert prune(place_at(place), 1) == (0, 1)
    assert prune(place_at(place), 1) == (0, 0)
