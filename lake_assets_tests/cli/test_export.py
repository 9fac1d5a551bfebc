import signal
import subprocess

import pytest

from lake_assets.runtime.command_line import command_line
from lake_assets.settings.load import child_environment
from lake_assets_tests.commandline import result_of, sparkless_here
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic
from lake_assets_tests.export.topics import counted, fill, numbers, range_of


@pytest.fixture
def topic(services):
    made = Topic(services)
    made.create(2)
    fill(made, *numbers(0, 5))
    return made


@pytest.mark.kafka
def test_what_was_done_is_a_table_or_an_object_of_json(topic, connected, tmp_path):
    arguments = ("export", "--topic", topic.name, "--to", str(tmp_path / "out"))
    done = sparkless_here(connected, *arguments)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if "│" in line]
    assert rows[0][1::2] == ["0", "0", "5", "5", "1", "45"]
    assert rows[-1][1::2][0] == "all"
    fill(topic, *numbers(5, 8))
    topic.delete_rows(0, before=6)
    again = sparkless_here(connected, *arguments, "--allow-gaps", "--json", "--rows-per-file", "1")
    assert again.returncode == 0, again.stderr
    found = result_of(again)
    assert (found["topic"], found["rows"], found["is_whole"]) == (topic.name, 2, True)
    assert found["partitions"][0] == {
        "partition": 0,
        "from": 5,
        "to": 8,
        "rows": 2,
        "bytes": 18,
        "files": [f"{topic.name}-00000000{n}-p0-{5 + n}-{6 + n}.jsonl" for n in (1, 2)],
        "gaps": [{"from": 5, "to": 6}],
    }


@pytest.mark.kafka
def test_a_gap_that_is_passed_over_is_told(topic, connected, tmp_path):
    arguments = ("export", "--topic", topic.name, "--to", str(tmp_path / "out"))
    sparkless_here(connected, *arguments)
    fill(topic, *numbers(5, 8))
    topic.delete_rows(0, before=6)
    refused = sparkless_here(connected, *arguments)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "offsets 5 to 5 of partition 0 were deleted" in refused.stderr
    done = sparkless_here(connected, *arguments, "--allow-gaps")
    assert "offsets 5 to 5 of partition 0 were deleted before they were exported" in done.stdout


@pytest.mark.kafka
def test_a_command_that_is_told_to_end_ends_well_and_the_next_goes_on(topic, connected, tmp_path):
    fill(topic, *numbers(5, 20_000))
    folder = tmp_path / "out"
    arguments = ("export", "--topic", topic.name, "--to", str(folder))
    with subprocess.Popen(  # noqa: S603 - our own command line
        command_line(*arguments, "--rows-per-file", "5"),
        env=child_environment(connected),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        wait_for(lambda: any(folder.glob("*.jsonl")), "the first file", within_s=120)
        process.send_signal(signal.SIGTERM)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == 0
    assert printed.endswith("stopped before the end. Run it again to go on\n")
    assert len(counted(folder)) < 20_000
    sparkless_here(connected, *arguments)
    assert counted(folder) == range_of(0, 20_000)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--to", "s3://bucket/x"], "--to: s3://bucket/x is no folder, and buckets are not writt"),
        (["--to", "x"], "embedded kafka of "),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(settings, arguments, problem):
    done = sparkless_here(settings, "export", "--topic", "t", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {problem}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [["--format", "avro"], ["--rows-per-file", "0"], ["--bytes-per-file", "x"]],
)
def test_options_that_cannot_be_are_told_with_the_usage(settings, arguments):
    done = sparkless_here(settings, "export", "--topic", "t", "--to", "x", *arguments)
    assert done.returncode == 2
    assert arguments[0] in done.stderr
