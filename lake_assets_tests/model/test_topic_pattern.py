import pytest

from lake_assets.model.topic_pattern import pattern_of_names, topic_name, topic_pattern


@pytest.mark.parametrize(
    ("pattern", "found", "passed_over"),
    [
        ("game-.*", ["game-", "game-uno"], ["games", "a-game-uno"]),
        ("^game-.*$", ["game-uno"], ["game"]),
        (r"eu\.(uno|poker)", ["eu.uno", "eu.poker"], ["eu-uno", "eu.uno2"]),
        (r"(?:a|b)\d{2,}", ["a12", "b123"], ["a1", "c12"]),
        ("[a-c_.-]+?x?", ["a-b", "b.x"], ["d"]),
        ("[^0-9].{1,3}", ["ab"], ["1b", "abcde"]),
        ("a|b", ["a", "b"], ["ab"]),
    ],
)
def test_whole_names_match(pattern, found, passed_over):
    compiled = topic_pattern(pattern)
    assert [n for n in [*found, *passed_over] if compiled.fullmatch(n)] == found


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "game-*+",  # possessive
        "(?i)game",
        "(?=a)b",
        "(?P<n>a)",
        r"\Qa\E",
        r"\bgame",
        r"(a)\1",
        r"\p{L}+",
        "[a&&b]",
        "[[a]b]",
        "[]a]",
        "a{,3}",
        "a{x",
        "a b",
        "é",
        "a,b",
        "(a",
        "a)",
        "*a",
        "a{3,2}",
        "[b-a]",
    ],
)
def test_what_java_and_python_may_read_otherwise_is_refused(pattern):
    with pytest.raises(ValueError, match=r"is no (pattern of topics|regular expression)"):
        topic_pattern(pattern)


@pytest.mark.parametrize("name", ["", ".", "..", "a,b", "a b", "a/b", "a:b", "é", "x" * 250])
def test_what_no_topic_can_be_called_is_refused(name):
    with pytest.raises(ValueError, match="is no topic"):
        topic_name(name)


def test_names_as_a_pattern_are_themselves_and_nothing_else():
    names = ["a.b", "a-b_C.1"]
    compiled = topic_pattern(pattern_of_names(names))
    assert [n for n in [*names, "axb", "a.b2"] if compiled.fullmatch(n)] == names
