import os

import pytest

from lake_assets.backup.verify import verify
from lake_assets_tests.backup.lakes import FISH, UNO, BatchedLake, backed_up, place_at


@pytest.fixture
def place(settings, tmp_path):
    lake = BatchedLake(settings)
    lake.ingest()
    lake.demux(UNO, FISH)
    schema = settings.state_dir / "schemas" / "1"
    schema.parent.mkdir(parents=True)
    schema.write_text("message")
    backed_up(settings, tmp_path / "place")
    lake.committer.close()
    return tmp_path / "place"


def wrong(place, *, read):
    found = place_at(place)
    return verify(found, found.manifest(), read=read)


def test_of_a_whole_backup_nothing_is_wrong(place):
    assert wrong(place, read=True) == wrong(place, read=False) == []


@pytest.mark.parametrize(
    "pattern", ["data/silver/**/*.parquet", "backups/1/silver/*.tar.gz", "backups/1/state/*/1"]
)
def test_what_is_missing_torn_or_altered_is_named(place, pattern):
    file = next(place.glob(pattern.replace("/1/", "/000001-*/", 1)))
    content = file.read_bytes()
    file.write_bytes(bytes(len(content)))
    assert wrong(place, read=False) == []
    assert wrong(place, read=True) == [
        f"{file} is not what was copied: its checksum is another one"
    ]
    os.truncate(file, 3)
    assert wrong(place, read=False) == [f"{file} has 3 bytes, and should have {len(content)}"]
    file.unlink()
    assert wrong(place, read=False) == [f"{file} is missing"]


def test_a_table_whose_part_is_gone_is_told_with_the_others(place):
    next(place.glob(f"backups/000001-*/{UNO.relative}.json")).unlink()
    next(place.glob(f"data/{FISH.relative}/*.parquet")).unlink()
    missing, damaged = sorted(wrong(place, read=False), key=lambda words: "damaged" in words)
    assert missing.endswith("is missing")
    assert f"{UNO.relative}.json: is damaged (is missing)" in damaged
