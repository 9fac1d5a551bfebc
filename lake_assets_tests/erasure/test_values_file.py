import io
import sys

import pytest

from lake_assets.erasure.values_file import STDIN, values_in
from lake_assets.errors import ErasureError


def test_a_file_has_a_value_a_line(tmp_path):
    file = tmp_path / "values"
    file.write_bytes("\ufeffann\r\n\r\nb\u00f6b \nann\n".encode())
    assert values_in(file) == ("ann", "b\u00f6b ")


def test_standard_input_is_one(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("ann\nbob"))
    assert values_in(STDIN) == ("ann", "bob")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "cannot be read"), (b"\xff\xfe", "cannot be read"), (b"\n \n", "has no value")],
)
def test_what_has_no_values_is_refused(tmp_path, content, complaint):
    file = tmp_path / "values"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ErasureError, match=complaint):
        values_in(file)


def test_what_a_value_has_in_it_is_no_end_of_a_line(tmp_path, monkeypatch):
    """Its parts may be other persons'."""
    file, text = tmp_path / "values", "ann\u2028bob\r\ncy\x0cdi\x85e\n"
    file.write_bytes(text.encode())
    assert values_in(file) == ("ann\u2028bob", "cy\x0cdi\x85e")
    monkeypatch.setattr(sys, "stdin", io.StringIO("\ufeffann\n\nann\n"))
    assert values_in(STDIN) == ("ann",)
