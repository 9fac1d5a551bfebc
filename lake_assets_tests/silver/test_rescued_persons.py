"""What of the texts in `_rescued` tells whose a row is."""

import pyarrow as pa
import pytest

from lake_assets.model.erasures import number_text
from lake_assets.silver.rescued_persons import rows_naming, texts_within


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"who": "ann"}', {"ann"}),
        ('{"a": [{"WHO": ["ann", {"b": "bob"}]}]}', {"ann", "bob"}),
        ('{"who": 42}', {"42", number_text(42)}),
        ('{"who": true, "friend": "ann", "b": null, "who2": 4.5}', set()),
        ("ann", set()),
        ("[" * 100_000, set()),
    ],
)
def test_values_are_those_under_the_name_of_a_column(text, found):
    assert {value for column, value in texts_within(text, {"who"}) if column == "who"} == found


def test_each_distinct_text_that_names_a_column_is_asked_about_once():
    asked = []

    def tells(text):
        asked.append(text)
        return "ann" if "ann" in text else None

    texts = pa.array(['{"Who":"ann"}', None, '{"who":"bob"}', '{"b":"ann"}', '{"Who":"ann"}'])
    assert list(rows_naming(texts, {"who"}, tells)) == [(0, "ann"), (4, "ann")]
    assert asked == ['{"Who":"ann"}', '{"who":"bob"}']
    assert list(rows_naming(pa.nulls(2, pa.string()), {"who"}, tells)) == []
