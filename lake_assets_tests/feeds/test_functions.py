"""Functions that feeds name are found, or it is said why not."""

import pickle
import subprocess
import sys

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.functions import find_function, hidden_module, look_beside
from lake_assets.feeds.load import load_feeds

FEED = """\
feed: f
source: {kafka: {topic: t}}
payload: {json: {schema: "kind string"}}
transform: %s
"""


@pytest.fixture
def folder(tmp_path):
    look_beside(tmp_path)
    yield tmp_path
    sys.path.remove(str(tmp_path))


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_a_function_is_found_by_name_in_a_process_that_does_not_look_there(folder):
    write(folder, "found_one/__init__.py", "")
    write(folder, "found_one/inner.py", "class Many:\n    one = staticmethod(lambda rows: rows)\n")
    function = find_function("found_one.inner:Many.one")
    assert function.root == str(folder)
    assert function.load()(7) == 7
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).load()(8))"
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", code], input=pickle.dumps(function), capture_output=True, check=True
    )
    assert done.stdout == b"8\n"


@pytest.mark.parametrize(
    ("code", "name", "fact"),
    [
        ("", "lost_a:change", "there is no module lost_a"),
        ("", "lost_b.deep:change", r"there is no module lost_b\.deep"),
        ("import nobody_has_this", "lost_c:change", "cannot be imported .ModuleNotFoundError: No"),
        ("def change(:", "lost_d:change", "cannot be imported .SyntaxError"),
        ("1 / 0", "lost_e:change", "cannot be imported .ZeroDivisionError: division by zero"),
        ("def chnge(rows): ...", "lost_f:change", "is not in module lost_f"),
        ("change = 7", "lost_g:change", "is int, which cannot be called"),
    ],
)
def test_what_cannot_be_found_is_told_where_the_feed_names_it(folder, code, name, fact):
    if not name.startswith("lost_a"):
        write(folder, f"{name[:6]}.py", code)
    write(folder, "f.yaml", FEED % name)
    with pytest.raises(
        FeedError, match=rf"f\.yaml, line 4: transform: function '{name}': .*{fact}"
    ):
        load_feeds(folder)


@pytest.mark.parametrize("name", ["enrich", "enrich.add", "a:b:c", ":a", "a-b:c", "1a:b", "a:b()"])
def test_what_is_no_name_of_a_function_is_told(folder, name):
    write(folder, "f.yaml", FEED % f"'{name}'")
    with pytest.raises(FeedError, match=r"line 4: transform: .* names no function. Write"):
        load_feeds(folder)


def test_a_module_that_another_one_hides_is_told(folder):
    write(folder, "json.py", "def dumps(rows): ...")
    write(folder, "f.yaml", FEED % "json:dumps")
    assert hidden_module("json:dumps", folder).endswith("json/__init__.py")
    with pytest.raises(FeedError, match=r"hides the module beside the feed\. Give that one"):
        load_feeds(folder)
