import pytest

from lake_assets.sources.postgres.new_rows import Row, new_rows


def _is_new(value, known):
    return bool(new_rows([Row(5, ("5", "a"), value)], {('["a"]', 5): known}))


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ('{"k": "a"}', b'{"k": "a"}'),
        ('{"k": "a", "more": 1}', b'{"k": "a"}'),
        ('{"k": "a"}', b'{"k": "a", "less": 1}'),
        (None, None),
    ],
)
def test_a_row_with_its_columns_as_they_were_is_not_new(value, known):
    assert not _is_new(value, known)


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ('{"n": 1}', b'{"n": "1"}'),
        ('{"n": 9007199254740993.1}', b'{"n": 9007199254740993.2}'),
        ('{"n": 1}', b'{"n": null}'),
        (None, b"{}"),
        ("{}", None),
    ],
)
def test_a_row_that_holds_something_else_is_new(value, known):
    assert _is_new(value, known)


def test_another_watermark_or_key_is_another_row():
    rows = [Row(6, ("6", "a"), "{}"), Row(5, ("5", "b"), "{}")]
    assert len(new_rows(rows, {('["a"]', 5): b"{}"})) == 2
