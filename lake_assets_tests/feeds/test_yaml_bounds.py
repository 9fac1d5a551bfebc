"""Files of feeds that a few lines make huge, deep or endless: told in a line, in no time."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.errors import FeedError
from lake_assets.feeds.document import Document
from lake_assets.feeds.load import load_feeds
from lake_assets.feeds.yaml_bounds import MOST_VALUES, ensure_bounded

FEED = """
feed: games
source: {kafka: {topic: t}}
payload: {json: {schema: "game string"}}
"""


def _of_aliases(base, step, levels=9):
    lines = [f"  - &l0 {base}"]
    lines += [f"  - &l{n} {step.format(', '.join([f'*l{n - 1}'] * 10))}" for n in range(1, levels)]
    return "\n".join(lines)


BOMBS = {
    "laughs": FEED + "route:\n  column: game\n  keys:\n" + _of_aliases("[x]", "[{}]"),
    "merges": FEED + "x:\n" + _of_aliases("{a: 1}", "{{<<: [{}]}}"),
    "flow": FEED + "x: " + "[" * 3_000 + "]" * 3_000,
    "a bit deep": FEED + "x: " + "[" * 110 + "]" * 110,
    "block": FEED + "x:\n" + "".join(" " * n + "- \n" for n in range(1, 1_000)),
    "large": FEED + "# " + "x" * 2_000_000,
    "number": FEED + "x: " + "9" * 10_000,
    "itself": FEED + "route: &r {column: game, keys: [*r]}",
    "python": FEED + "x: !!python/object/apply:os.system ['true']",
    "bytes": "\0\0",
    "types": FEED.replace("game string", "x " + "array<" * 3_000 + "int" + ">" * 3_000),
    "key": "? [1, 2]\n: 3\n" + FEED,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_a_line(tmp_path, name):
    (tmp_path / "games.yaml").write_text(BOMBS[name])
    with pytest.raises(FeedError) as refused:
        load_feeds(tmp_path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1_000


def test_aliases_that_stand_for_little_are_taken():
    root = yaml.compose("a: &a [1, 2]\nb: [*a, *a]\nc: {<<: {x: *a}}", yaml.SafeLoader)
    ensure_bounded(root, "here")


def test_values_are_counted_as_often_as_they_are_named():
    named = "a: &a [" + "1," * (MOST_VALUES // 50) + "]\nb: [" + "*a," * 60 + "]"
    with pytest.raises(FeedError, match="its aliases counted as what they name"):
        ensure_bounded(yaml.compose(named, yaml.SafeLoader), "here")


_PARTS = """
feed: games source: {kafka: {topic: t}} payload: {json: {schema: "a int" } } [ ] - & * &a *a !! ? |
> <<: "x 'y # % @ ` --- ... route: keys: gold: sql: 1 1e999 .nan 0x1 2026-01-01 ~ null \t
"""


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=60),
        st.lists(st.sampled_from([*_PARTS.split(), "\n", "\n  "]), max_size=25).map(
            lambda words: " ".join(words).encode()
        ),
    )
)
def test_any_file_is_a_document_or_is_refused_in_words(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzzed.yaml"
    path.write_bytes(content)
    told = f"{path}"
    try:
        Document(path)
    except FeedError as problem:
        told = str(problem)
    assert told.startswith(str(path))
