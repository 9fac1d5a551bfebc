import pytest

from lake_assets.model.exact_measures import split_exact


@pytest.mark.parametrize(
    ("sql", "split"),
    [
        ("exact median(x)", ("median(x)", True)),
        ("EXACT\n percentile(x, 0.9)", ("percentile(x, 0.9)", True)),
        ("exact(x)", ("exact(x)", False)),
        ("exact", ("exact", False)),
        ("median(exact)", ("median(exact)", False)),
    ],
)
def test_exact_is_a_word_before_a_measure(sql, split):
    assert split_exact(sql) == split
