import pyarrow as pa
import pytest

from lake_assets.delta.log_history import open_table
from lake_assets.errors import LakeError
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of

UNO = {silver_of("uno"): pa.schema([("a", pa.int64())])}


def test_the_door_leads_to_the_lake_of_the_settings(settings):
    with open_lake(settings) as context:
        context.committer.create(UNO)
    assert open_table(LocalStore.at(settings.lake_dir), silver_of("uno")) is not None


def test_the_door_is_closed_at_the_end(settings):
    with open_lake(settings) as context:
        pass
    with pytest.raises(RuntimeError, match="after shutdown"):
        context.committer.create(UNO)


def test_a_lake_that_cannot_be_written_is_refused_before_anything_is_done(settings, tmp_path):
    (tmp_path / "file").write_text("")
    blocked = settings.model_copy(update={"lake": tmp_path / "file"})
    with pytest.raises(LakeError, match="cannot be written"), open_lake(blocked):
        pass
