"""Whatever is done to a feed, what is wrong with it is told in plain words, with its place."""

import re
import tempfile
from copy import deepcopy
from pathlib import Path

import hypothesis
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lake_assets import feeds as shipped
from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds
from lake_assets.feeds.problems import FeedsError, each_of, problem_at

SHIPPED = [path.read_text() for path in sorted(Path(shipped.__file__).parent.glob("*.yaml"))]

NOBODYS_WORDS = re.compile(
    r"tuple|dictionary|<class|Correct the file|value_error|Input should|Extra inputs|"
    r"pydantic|valid string|NoneType|Traceback|datetime\.|\bctx\b|should be a valid",
    re.IGNORECASE,
)

VALUES = st.sampled_from(
    [None, True, 7, 0.5, -1, "", "x", "*/5", "a: b", [], [1], ["x", "x"], {}, {"x": 1}, {"a": []}]
)


def paths_in(node, way=()):
    """The way to each part of a document."""
    yield way
    if isinstance(node, dict | list):
        parts = node.items() if isinstance(node, dict) else enumerate(node)
        for key, inner in parts:
            yield from paths_in(inner, (*way, key))


@st.composite
def wrong_feeds(draw):
    """A shipped feed with a part that is gone, is called otherwise, or is something else."""
    document = yaml.safe_load(draw(st.sampled_from(SHIPPED)))
    for _ in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from([way for way in paths_in(document) if way]))
        around = document
        for part in way[:-1]:
            around = around[part]
        match draw(st.sampled_from(["drop", "rename", "retype"])):
            case "drop":
                del around[way[-1]]
            case "rename" if isinstance(around, dict):
                around[draw(st.sampled_from(["nme", "Keys", "x y", f"{way[-1]}s"]))] = around.pop(
                    way[-1]
                )
            case _:
                around[way[-1]] = deepcopy(draw(VALUES))
        if not document:
            break
    return yaml.safe_dump(document, sort_keys=False)


@given(wrong_feeds())
@hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
def test_each_problem_of_a_feed_has_its_place_and_plain_words(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.yaml"
        path.write_text(text)
        found = problems_of(Path(folder))
    for one in found:
        assert one.file == str(path)
        assert "is empty" in one.fact or 1 <= one.line <= text.count("\n")
        assert one.next_step
        assert "\n" not in str(one)
        assert NOBODYS_WORDS.search(str(one)) is None


def problems_of(folder):
    """What is wrong with its feeds; anything but a `FeedError` fails the test."""
    try:
        load_feeds(folder)
    except FeedError as found:
        return each_of(found)
    return ()


def test_several_problems_are_one_error_with_a_line_each():
    first, second = FeedError("a", "b", "C"), FeedError("d", "e", "F")
    both = FeedsError([first, second])
    assert str(both) == "a: b. C\nd: e. F"
    assert each_of(both) == (first, second)
    assert each_of(first) == (first,)


def test_what_a_file_says_is_told_without_logins_and_in_one_line():
    found = problem_at("f", None, "'s3://me:secret@b/x' is\n\x1b[31mred", "Write 'a://u:p@h'")
    assert (found.fact, found.next_step) == (
        "'s3://…@b/x' is\\n\\x1b[31mred",
        "Write 'a://…@h'",
    )
    assert "secret" not in str(found)


def test_long_words_are_told_by_their_beginning():
    found = problem_at("f", None, f"'{'z' * 500}' at http://me:secret@h is no name", "Write one")
    assert str(found) == f"f: '{'z' * 60}…' at http://…@h is no name. Write one"
