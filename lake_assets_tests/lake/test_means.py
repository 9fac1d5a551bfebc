import pyarrow as pa
import pytest

from lake_assets.errors import LakeError
from lake_assets.lake.history import open_table
from lake_assets.lake.means import lake_means
from lake_assets.model.tables import silver_of

UNO = {silver_of("uno"): pa.schema([("a", pa.int64())])}


def test_the_door_leads_to_the_lake_of_the_settings(settings):
    with lake_means(settings) as means:
        means.door.create(UNO)
    assert open_table(settings.lake_dir, silver_of("uno")) is not None


def test_the_door_is_closed_at_the_end(settings):
    with lake_means(settings) as means:
        pass
    with pytest.raises(RuntimeError, match="after shutdown"):
        means.door.create(UNO)


def test_a_lake_that_cannot_be_written_is_refused_before_anything_is_done(settings, tmp_path):
    (tmp_path / "file").write_text("")
    blocked = settings.model_copy(update={"lake": tmp_path / "file"})
    with pytest.raises(LakeError, match="cannot be written"), lake_means(blocked):
        pass
