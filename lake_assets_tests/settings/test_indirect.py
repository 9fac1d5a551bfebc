"""Settings and feeds' secrets that are in files or said by commands."""

import os
import shlex
import sys
import time
import traceback
from contextlib import suppress

import psutil
import pytest

from lake_assets.errors import SettingsError
from lake_assets.settings import indirect
from lake_assets.settings.indirect import value_of
from lake_assets.settings.load import child_environment, load_settings, secret_of, variables

HUSH = "hush-hush"


def says(code: str) -> str:
    """A command line of a Python that does this."""
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def refused(variables) -> SettingsError:
    """What is said of these; the secret is in no part of it."""
    with pytest.raises(SettingsError) as raised:
        value_of(variables, "X")
    assert "hush" not in "".join(traceback.format_exception(raised.value))
    return raised.value


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"hush", "hush"),
        (b"hush\n", "hush"),
        (b"hush\r\n", "hush"),
        (b"hush\n\n", "hush\n"),
        (b" hush ", " hush "),
        (b"\xef\xbb\xbfhush\r\n", "hush"),
        ("schlüssel ☃\n".encode(), "schlüssel ☃"),
    ],
)
def test_a_value_may_be_in_a_file_without_its_last_line_end(tmp_path, content, value):
    (tmp_path / "x").write_bytes(content)
    assert value_of({"X_FILE": str(tmp_path / "x")}, "X") == value


def test_a_link_to_a_file_is_one_as_kubernetes_has_them(tmp_path):
    (tmp_path / "..2026").mkdir()
    (tmp_path / "..2026" / "x").write_text(HUSH)
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "x").symlink_to("..data/x")
    assert value_of({"X_FILE": str(tmp_path / "x")}, "X") == HUSH


def test_a_file_that_was_replaced_is_read_anew(tmp_path):
    file = tmp_path / "x"
    for value in ("first", "second"):
        file.write_text(value)
        assert value_of({"X_FILE": str(file)}, "X") == value


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"", "gives nothing"),
        (b"\n", "gives nothing"),
        (b"hush\xff", "no text in UTF-8"),
        (b"hush\0", "a zero byte"),
        (b"hush" * 300_000, "gives more than 1,048,576 bytes"),
    ],
)
def test_a_file_without_a_usable_value_is_told_and_not_repeated(tmp_path, content, fact):
    (tmp_path / "x").write_bytes(content)
    problem = refused({"X_FILE": str(tmp_path / "x")})
    assert problem.thing == "X_FILE"
    assert fact in problem.fact


def test_what_is_no_file_is_told(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, fact in (("hush", "No such file"), ("pipe", "no file"), (".", "Is a directory")):
        assert fact in refused({"X_FILE": str(tmp_path / name)}).fact
    assert "is no file" in refused({"X_FILE": "/dev/zero"}).fact
    assert "it is no path" in refused({"X_FILE": "a\0b"}).fact


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads all")
def test_a_file_of_somebody_else_is_told(tmp_path):
    (tmp_path / "x").write_text(HUSH)
    (tmp_path / "x").chmod(0)
    assert "Permission denied" in refused({"X_FILE": str(tmp_path / "x")}).fact


def test_a_command_says_a_value_without_a_shell():
    line = says("import sys; print(sys.argv[1])") + " '$HOME; a  b'"
    assert value_of({"X_COMMAND": line}, "X") == "$HOME; a  b"


def test_a_command_is_asked_once_a_minute(tmp_path, monkeypatch):
    line = says(f"open({str(tmp_path / 'asked')!r}, 'a').write('.'); print('hush')")
    now = 6000.0
    monkeypatch.setattr("lake_assets.settings.indirect.time.monotonic", lambda: now)
    for _ in range(3):
        assert value_of({"X_COMMAND": line}, "X") == "hush"
    assert (tmp_path / "asked").read_text() == "."
    now += 60
    value_of({"X_COMMAND": line}, "X")
    assert (tmp_path / "asked").read_text() == ".."


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        (says("print('hush'); raise SystemExit(3)"), f"{sys.executable} ended with code 3"),
        (says("import sys; sys.exit('hush')"), "ended with code 1"),
        (says("import os; print('hush', flush=True); os.abort()"), "was ended by signal 6"),
        (says("pass"), "gives nothing"),
        (says("while True: print('hush' * 9999)"), "gives more than"),
        ("hush-hush", "a command that cannot be started (No such file"),
        ("/ hush", "a command that cannot be started (Permission denied)"),
        ("op read 'hush", "a quote that is not closed"),
        (" ", "names no command"),
    ],
)
def test_a_command_without_a_usable_value_is_told_and_not_repeated(line, fact, capfd):
    problem = refused({"X_COMMAND": line})
    assert problem.thing == "X_COMMAND"
    assert fact in problem.fact
    assert "hush" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("waits", ["time.sleep(60)", "os.close(1); time.sleep(60)"])
def test_a_command_that_hangs_is_ended_with_all_it_started(tmp_path, monkeypatch, waits):
    monkeypatch.setattr(indirect, "_LASTS_S", 5.0)
    pids = tmp_path / "pids"
    code = (
        f"import os, time; child = os.fork(); open({str(pids)!r}, 'a').write(f'{{os.getpid()}} ');"
        f"{waits}"
    )
    began = time.monotonic()
    assert "has not ended within 5 s" in refused({"X_COMMAND": says(code)}).fact
    assert time.monotonic() - began < 60
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    for pid in started:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(pid).wait(10)


@pytest.mark.parametrize("one", ["X", "X_FILE"])
@pytest.mark.parametrize("other", ["X_FILE", "X_COMMAND"])
def test_two_ways_at_once_are_refused(one, other):
    if one == other:
        return
    problem = refused({one: HUSH, other: HUSH})
    assert (problem.thing, problem.fact) == (other, f"is set, and so is {one}")


def test_what_is_empty_is_not_set():
    assert value_of({"X": "", "X_FILE": "", "X_COMMAND": ""}, "X") == ""
    assert value_of({"X": HUSH, "X_FILE": "", "X_COMMAND": ""}, "X") == HUSH
    assert value_of({}, "X") is None


def test_any_setting_may_be_in_a_file_or_said_by_a_command(tmp_path, monkeypatch):
    (tmp_path / "options").write_text('{\n  "aws_secret_access_key": "hush-hush"\n}\n')
    (tmp_path / "servers").write_text("broker:9092\n")
    monkeypatch.setenv("LAKE_ASSETS_STORAGE_OPTIONS_FILE", str(tmp_path / "options"))
    monkeypatch.setenv("lake_assets_Kafka_Bootstrap_Servers_File", str(tmp_path / "servers"))
    monkeypatch.setenv("LAKE_ASSETS_REGISTRY_USER", "me")
    monkeypatch.setenv("LAKE_ASSETS_REGISTRY_PASSWORD_COMMAND", says("print('hush-hush')"))
    monkeypatch.setenv("LAKE_ASSETS_LAKE_COMMAND", says("print('/some/lake')"))
    found = load_settings()
    assert found.storage.secrets == {"aws_secret_access_key": HUSH}
    assert found.kafka.bootstrap_servers == "broker:9092"
    assert found.registry.password.get_secret_value() == HUSH
    assert str(found.lake) == "/some/lake"
    child = child_environment(found)
    assert child["LAKE_ASSETS_REGISTRY_PASSWORD"] == HUSH
    assert not [name for name in child if name.startswith("LAKE_") and name.endswith("COMMAND")]


@pytest.mark.parametrize("content", [HUSH, '["hush-hush"]', '{"a": 1, hush-hush}'])
def test_a_file_that_does_not_fit_its_setting_is_not_repeated(tmp_path, monkeypatch, content):
    (tmp_path / "options").write_text(content)
    monkeypatch.setenv("LAKE_ASSETS_STORAGE_OPTIONS_FILE", str(tmp_path / "options"))
    with pytest.raises(SettingsError, match="LAKE_ASSETS_STORAGE_OPTIONS") as raised:
        load_settings()
    assert "hush" not in "".join(traceback.format_exception(raised.value))


def test_a_feeds_secret_may_be_in_a_file(tmp_path, monkeypatch):
    (tmp_path / "password").write_text("hush-hush\n")
    monkeypatch.setenv("SHOP_PASSWORD_FILE", str(tmp_path / "password"))
    assert secret_of("SHOP_PASSWORD").get_secret_value() == HUSH
    (tmp_path / "password").write_text("hush\nhush\n")
    with pytest.raises(SettingsError, match="not printable"):
        secret_of("SHOP_PASSWORD")


def test_no_setting_is_called_as_the_file_of_another():
    names = variables()
    assert "LAKE_ASSETS_STORAGE_OPTIONS" in names
    assert "LAKE_ASSETS_LAKE" in names
    assert not [name for name in names if name.endswith(("_FILE", "_COMMAND"))]
