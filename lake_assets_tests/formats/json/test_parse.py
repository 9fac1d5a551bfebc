import json

import pytest

from lake_assets.formats.json.parse import DEEPEST, NotReadableError, is_deep, parse, text_of


@pytest.mark.parametrize(
    ("text", "is_too_deep"),
    [
        ("[" * DEEPEST + "]" * DEEPEST, False),
        ("[" * (DEEPEST + 1), True),
        ("[]" * 1000, False),
        (json.dumps("[" * 1000), False),
        ('{"a\\\\":' + "[" * DEEPEST, True),
        ('{"a\\"' + "[" * 1000, False),  # all of it is a string that nobody closed
        ('"\\' + "\n" + "[" * 1000, False),
    ],
)
def test_levels_are_those_of_brackets_outside_of_strings(text, is_too_deep):
    assert is_deep(text) is is_too_deep


def test_a_long_value_that_was_cut_off_in_a_string_is_refused_for_that():
    value = '{"s":"' + "{" * (DEEPEST + 1) + '\\"' * 50_000
    with pytest.raises(NotReadableError, match="Unterminated string"):
        parse(value.encode())


def test_text_is_what_was_parsed():
    text = '{"a":[1.50,1e400,-0,"ä","\\ud800",null,true],"\\udfff":{}}'
    assert text_of(parse(text.encode())) == text
