import pytest
from pydantic import ValidationError

from lake_assets.model.feeds import Feed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("routes", [{"column": "a", "keys": ["x"]}, {"column": "b", "keys": ["y"]}]),
        ("deduplicate", {"key": ["a"], "within": "1h"}),
        ("into", "others"),
        ("keyed", {"by": "a", "order": "b"}),
    ],
)
def test_elements_are_refused_where_rows_are_told_by_their_origin_alone(field, value):
    feed = {"feed": "f", "source": {"kafka": {"topic": "f"}}, field: value}
    payload = {"json": {"schema": "a string, b bigint, c array<string>"}}
    with pytest.raises(ValidationError, match=f"several rows of one, which {field} cannot take"):
        Feed.model_validate({**feed, "payload": payload, "select": ["*", "explode(c) as d"]})
