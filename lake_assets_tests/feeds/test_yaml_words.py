import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds
from lake_assets.feeds.problems import each_of

HEAD = "feed: f\nsource: {kafka: {topic: t}}\npayload: {json: {schema: 'a int, who string'}}\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "told"),
    [
        ("route:\n\tcolumn: who\n", 5, 1, "a tab stands where blanks should. Replace each tab"),
        ("run: */5 * * * *\n", 4, 7, "begins with *, which stands .* in quotes: '*/5 * * * *'"),
        ("gold: [{schedule: */5 * * * *}]\n", 4, 20, "Write it in quotes: '*/5 * * * *'"),
        ("where: *x\n", 4, 8, "begins with *, which stands for .* in quotes: '*x'"),
        ("on: x\n", 4, 1, "the name `on` is true or false in YAML, .* in quotes: 'on'"),
        ("mask: {1: hash}\n", 4, 8, "the name `1` is a number in YAML, .* in quotes: '1'"),
        ("---\nfeed: g\n", 4, 1, "a second document begins at `---`. Put each feed into a file"),
        ("where: a: b\n", 4, 9, "has a colon with a blank after it. Write it in quotes: 'a: b'"),
        ("where: 'a\n", 5, 1, "the quote that is opened on line 4 is not closed. Close it"),
        ('where: "\\d"\n', 4, 10, "within double quotes, .* Use single quotes"),
        ("tables:\n  silver: {key}_x\n", 5, 16, "text stands after the closing }. Put all of the"),
        ("route: {keys: [a, b}\n", 4, 20, "what `[` opens on line 4 is not closed here"),
        ("route:\n  column: who\n   keys: [a]\n", 6, 8, "this line is indented otherwise"),
        ("route:\n  column: who\n keys: [a]\n", 6, 2, "this line is indented otherwise"),
        ("route\n  column: who\n", 5, 9, "line 4 has no colon. Write `name: value`"),
        ("where: @x\n", 4, 8, "no unquoted value begins with @. Write it in quotes: '@x'"),
        ("where: `a` > 1\n", 4, 8, "begins with `. Write it in quotes: '`a` > 1'"),
        ("where: &\n", 4, 9, "an unquoted value begins with &"),
        ("where: !x y\n", 4, 8, "it has the tag !x. Feeds have no tags"),
        ("{a: b}: c\n", 4, 1, "a name is a list or a mapping"),
        ("where: a\x01b\n", 4, 9, "it has the control character U+0001. Delete it"),
        ("where: 2020-13-45\n", 4, 8, "month must be in 1..12. Write what is no number"),
        ("run:5s\n", 5, 1, "line 4 has no blank after its colon. Write `name: value`"),
        ("<<: x\n", 4, 5, "`<<` takes in what is no mapping. Write `<<:"),
        (
            "where: {{ env.X }}\n",
            4,
            9,
            "Write it in quotes: '{{ env.X }}'; feeds have no templates",
        ),
        (f"run: 1{'0' * 5000}\n", 4, 6, "not YAML: a number has too many digits. Write what is no"),
        ("feed: g\n", 4, 1, "'feed' was given on line 1 already. Remove one of them"),
    ],
)
def test_what_is_no_yaml_says_where_and_what_to_write(tmp_path, text, line, column, told):
    (tmp_path / "f.yaml").write_text(HEAD + text)
    with pytest.raises(FeedError) as caught:
        load_feeds(tmp_path)
    found = caught.value
    assert (found.line, found.column) == (line, column)
    assert f"f.yaml, line {line}: " in str(found)
    rest = str(found)
    for part in told.split(" .* "):
        assert part in rest
        rest = rest.partition(part)[2]


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        (f"{HEAD}where: caf".encode() + b"\xe9\n", 4, "it has the byte 0xe9 here. Save it as"),
        (HEAD.encode("utf-16"), 1, "it looks like UTF-16. Save it as UTF-8"),
    ],
)
def test_what_is_not_utf_8_says_where(tmp_path, content, line, told):
    (tmp_path / "f.yaml").write_bytes(content)
    with pytest.raises(FeedError, match=f"f.yaml, line {line}: is not text in UTF-8: {told}"):
        load_feeds(tmp_path)


def test_several_names_that_are_none_are_told_at_once(tmp_path):
    (tmp_path / "f.yaml").write_text(f"{HEAD}on: 1\nfeed: g\n2: x\n")
    with pytest.raises(FeedError) as caught:
        load_feeds(tmp_path)
    assert [one.line for one in each_of(caught.value)] == [4, 5, 6]


def test_utf_16_without_its_mark_is_told_as_such(tmp_path):
    (tmp_path / "f.yaml").write_bytes(HEAD.encode("utf-16-le"))
    with pytest.raises(
        FeedError, match=r"f\.yaml, line 1: is not text in UTF-8: it looks like UTF"
    ):
        load_feeds(tmp_path)


def test_a_name_that_is_missing_is_told(tmp_path):
    (tmp_path / "f.yaml").write_text(f"{HEAD}? \n: a\n")
    with pytest.raises(FeedError, match=r"line 4: a name is missing\. Write a name before the"):
        load_feeds(tmp_path)


def test_what_is_nested_too_deep_has_its_place(tmp_path):
    (tmp_path / "f.yaml").write_text(f"{HEAD}where: {'[' * 150}{']' * 150}\n")
    with pytest.raises(FeedError, match="line 4: is nested too deep") as caught:
        load_feeds(tmp_path)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "f.yaml"), 4)
