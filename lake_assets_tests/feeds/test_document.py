from pathlib import Path

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.document import Document


def _document(folder: Path, text: str) -> Document:
    path = folder / "f.yaml"
    path.write_text(text)
    return Document(path)


def test_every_part_has_its_line(tmp_path):
    found = _document(tmp_path, "a: 1\nb:\n  - c: 2\n  - d:\n      e: 3\n")
    assert found.data == {"a": 1, "b": [{"c": 2}, {"d": {"e": 3}}]}
    assert found.line_of(["a"]) == 1
    assert found.line_of(["b"]) == 2
    assert found.line_of(["b", 0]) == 3
    assert found.line_of(["b", 1, "d", "e"]) == 5


def test_what_is_missing_has_the_line_of_what_is_around_it(tmp_path):
    found = _document(tmp_path, "a: 1\nb:\n  c: 2\n")
    assert found.line_of(["b", "x"]) == 2
    assert found.line_of(["x"]) == found.line_of([]) == 1


def test_an_empty_file_has_a_first_line(tmp_path):
    found = _document(tmp_path, "")
    assert (found.data, found.line_of(["a"])) == (None, 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [1\nb: 2\n", r"line 2: is not YAML \(did not find expected|line 2: is not YAML"),
        ("a: 1\n---\nb: 2\n", "line 2: is not YAML"),
        ("a: \t1\n\t- b", "is not YAML"),
        ("a: \x01\n", "is not YAML"),
        ("a: !!python/object:os.system x\n", "is not YAML"),
        ("a: 1\nb: 2\na: 3\n", "line 3: 'a' was given on line 1 already"),
        ("a:\n  - {b: 1, b: 2}\n", "line 2: 'b' was given on line 2 already"),
    ],
)
def test_broken_yaml_is_refused_with_its_line(tmp_path, text, problem):
    with pytest.raises(FeedError, match=problem):
        _document(tmp_path, text)


def test_an_anchor_that_holds_itself_is_read(tmp_path):
    found = _document(tmp_path, "a: &x [*x]\n")
    assert found.data["a"][0] is found.data["a"]


def test_what_is_not_text_is_refused(tmp_path):
    (tmp_path / "f.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FeedError, match="is not text in UTF-8"):
        Document(tmp_path / "f.yaml")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FeedError, match="cannot be read"):
        Document(tmp_path / "f.yaml")
