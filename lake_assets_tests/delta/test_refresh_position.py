from lake_assets.delta.refresh_position import DEFINITION, SILVER_VERSION, Position, position_from


def test_a_position_is_read_from_a_commits_metadata():
    info = {"operation": "WRITE", SILVER_VERSION: "12", DEFINITION: "abc"}
    assert position_from(info) == Position(silver_version=12, definition="abc")


def test_other_commits_tell_no_position():
    assert position_from({"operation": "CREATE TABLE"}) is None
