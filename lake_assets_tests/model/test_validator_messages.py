import pytest

from lake_assets.model.validator_messages import fact_and_step


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("'x' is no column", ("'x' is no column", "")),
        ("fields here are at, name", ("fields here are at, name", "")),
        ("is the feed itself\nleave it out", ("is the feed itself", "Leave it out")),
        ("\ngive one of a, b", ("", "Give one of a, b")),
        ("no key a\nb\nuse one of c", ("no key a\nb", "Use one of c")),
    ],
)
def test_the_last_line_is_what_to_do(message, parts):
    assert fact_and_step(message) == parts
