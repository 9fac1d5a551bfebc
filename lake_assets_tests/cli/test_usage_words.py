import pytest

from lake_assets.cli.usage_words import in_words
from lake_assets_tests.commandline import answer_of, sparkless_here


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("produce", "--events", "abc"), "Invalid value for '--events': it is no whole number"),
        (("produce", "--events", "0"), "Invalid value for '--events': it must be 1 or more"),
        (("top", "--every", "x"), "Invalid value for '--every': it is no number"),
        (
            ("rebuild", "copper"),
            "Invalid value for 'layer': 'copper' is not one of 'silver', 'gold'",
        ),
        (("offsets", "--since", "soon"), "'--since': 'soon' is no time: write 2026-11-24T12:00:00"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_told_in_plain_words(settings, arguments, told):
    done = sparkless_here(settings, *arguments, "--json")
    assert done.returncode == 2
    (problem,) = answer_of(done)["problems"]
    assert told in problem["fact"]
    assert "Input should" not in done.stderr
    assert "Value error" not in done.stderr


def test_other_messages_are_as_they_were():
    assert in_words("'x' is not one of 'a', 'b'.") == "'x' is not one of 'a', 'b'."
