import pytest

from lake_assets.model.processes import ProcessId
from lake_assets.services.state import ServiceState, read_state, write_state


def test_what_is_written_is_read(tmp_path):
    state = ServiceState(ports=(1, 2), child=ProcessId(boot="b", pid=3, start="4"), is_ready=True)
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("text", ["", "{", '{"ports": "x"}'])
def test_a_damaged_file_counts_as_none(tmp_path, text):
    (tmp_path / "state.json").write_text(text)
    assert read_state(tmp_path) is None


def test_no_file_is_none(tmp_path):
    assert read_state(tmp_path) is None


def test_ports_outlive_a_process_that_the_first_release_wrote_down(tmp_path):
    old = '{"ports": [1, 2], "child": {"pid": 3, "born": 4.5}, "is_ready": true}'
    (tmp_path / "state.json").write_text(old)
    assert read_state(tmp_path) == ServiceState(ports=(1, 2), is_ready=True)
