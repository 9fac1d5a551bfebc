"""`.ci/install.py`, by which `make setup` runs uv: its bars and sums, and not a line a package."""

import importlib.util
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location(
    "install", Path(__file__).parents[1] / ".ci" / "install.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
install = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(install)

LIST = b"Installed 3 packages in 5ms\n + flask==3.1\n - rich==15.0\n ~ lake-assets==0.1\n"

IN_COLOUR = (
    b"\x1b[2mInstalled\x1b[0m\r\n \x1b[32m+\x1b[39m \x1b[1mflask\x1b[0m\x1b[2m==3.1\x1b[0m\r\n"
)


def printed(*parts):
    return b"".join(install.shown(iter(parts)))


def test_the_list_of_packages_is_left_out():
    assert printed(LIST) == b"Installed 3 packages in 5ms\n"
    assert printed(IN_COLOUR) == b"\x1b[2mInstalled\x1b[0m\r\n"


def test_wherever_the_output_is_cut_it_is_left_out():
    for whole in (LIST, IN_COLOUR):
        assert printed(*(bytes([one]) for one in whole)) == printed(whole)


def test_a_bar_is_shown_before_its_line_ends():
    bar = b"\x1b[2K\rflask ------- 3/10"
    assert list(install.shown(iter([bar]))) == [bar]


def test_an_error_is_shown_and_its_code_handed_on():
    seen = []
    for is_terminal in (False, True):
        command = ["sh", "-c", "echo ' + a==1'; echo 'error: no such package' >&2; exit 3"]
        assert install.run(command, seen.append, is_terminal=is_terminal) == 3
    assert b"".join(seen).split() == [b"error:", b"no", b"such", b"package"] * 2
