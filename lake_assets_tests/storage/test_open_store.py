from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.local import LocalStore
from lake_assets.storage.objects import ObjectStore
from lake_assets.storage.open_store import store_of
from lake_assets_tests.programs import run_program


def test_a_place_has_the_store_of_its_kind(tmp_path):
    assert isinstance(store_of(LakeUri.local(tmp_path)), LocalStore)
    assert isinstance(store_of(LakeUri.parse("s3://bucket"), {"aws_region": "x"}), ObjectStore)


_OPENS = """
import sys
from pathlib import Path
from lake_assets.storage.open_store import store_of
from lake_assets.model.lake_uri import LakeUri
store_of(LakeUri.local(Path(sys.argv[1])))
print("obstore" in sys.modules)
"""


def test_a_local_lake_does_not_pay_for_buckets(tmp_path):
    assert run_program(_OPENS, [str(tmp_path)]).strip() == "False"
