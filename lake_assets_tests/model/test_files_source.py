from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.model.files_source import FilesSource


def source(pattern):
    return FilesSource(path="/data", format="jsonl", pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "fit", "others"),
    [
        ("*", ["a", "a.b"], ["a/b", ".a", "_a", "a.tmp"]),
        ("*.jsonl", ["a.jsonl", "a.b.jsonl"], ["a.json", "b/a.jsonl", "a.jsonl.gz"]),
        ("**/*.gz", ["a.gz", "b/a.gz", "c/b/a.gz"], ["a", "_c/a.gz", "c/.b/a.gz"]),
        ("in/**/a", ["in/a", "in/b/a", "in/b/c/a"], ["a", "b/in/a", "in/ba"]),
        ("in/*/a", ["in/b/a"], ["in/a", "in/b/c/a"]),
        ("in/**", ["in/a"], ["in/b/a"]),
        ("a?.x", ["ab.x", "a?.x", "aé.x"], ["a.x", "a/.x", "abc.x", "abzx"]),
        ("a(1)+.x", ["a(1)+.x"], ["a11.x"]),
    ],
)
def test_a_pattern_says_which_names_are_read(pattern, fit, others):
    assert [name for name in (*fit, *others) if source(pattern).matches(name)] == fit


@given(
    st.text("ab*?", min_size=1, max_size=8).filter(lambda text: set(text) != {"*"}),
    st.text("ab", min_size=1, max_size=10),
)
def test_names_without_folders_fit_as_a_shell_has_it(pattern, name):
    assert source(pattern).matches(name) == fnmatchcase(name, pattern)


def test_many_stars_take_no_longer():
    """Each may end at any place of the name: one after the other tried, longer than anybody has."""
    assert not source("*a" * 30 + "b").matches("a" * 200)
    assert source("*a" * 30).matches("a" * 200)
