import json

import pytest

from lake_assets.catalog.entries import CatalogTable
from lake_assets.catalog.s3_policies import LONGEST, policies
from lake_assets.errors import LakeError


def table(name, location=None):
    place = location or f"s3://bucket/a%20lake/silver/{name}"
    return CatalogTable(database="silver", name=name, location=place)


def test_a_policy_lets_read_and_list_its_tables_and_nothing_else():
    (document,) = policies([table("uno"), table("poker")])
    listing, reading = document["Statement"]
    assert (listing["Action"], listing["Resource"]) == (["s3:ListBucket"], ["arn:aws:s3:::bucket"])
    assert listing["Condition"] == {
        "StringLike": {"s3:prefix": ["a lake/silver/uno/*", "a lake/silver/poker/*"]}
    }
    assert reading["Action"] == ["s3:GetObject"]
    assert reading["Resource"] == [
        "arn:aws:s3:::bucket/a lake/silver/uno/*",
        "arn:aws:s3:::bucket/a lake/silver/poker/*",
    ]


def test_very_many_tables_are_in_several_documents_that_iam_takes():
    tables = [table(f"silver_key_{number}_events") for number in range(300)]
    found = policies(tables)
    sizes = [len(json.dumps(document, separators=(",", ":"))) for document in found]
    assert LONGEST - 200 < max(sizes) <= LONGEST
    named = [one for document in found for one in document["Statement"][1]["Resource"]]
    assert named == [f"arn:aws:s3:::bucket/a lake/silver/{one.name}/*" for one in tables]


def test_a_table_of_a_disk_has_none():
    with pytest.raises(LakeError, match="policies of S3 are for buckets of S3"):
        policies([table("uno", "file:///lake/silver/uno")])


def test_a_folder_is_no_pattern():
    (document,) = policies([table("uno", "s3://bucket/a*b$c/silver/uno")])
    condition, files = document["Statement"][0]["Condition"], document["Statement"][1]["Resource"]
    assert condition == {"StringLike": {"s3:prefix": ["a${*}b${$}c/silver/uno/*"]}}
    assert files == ["arn:aws:s3:::bucket/a${*}b${$}c/silver/uno/*"]
