import pytest

from lake_assets.services.child import Child
from lake_assets.services.state import ServiceState, read_state, write_state


def test_what_is_written_is_read(tmp_path):
    state = ServiceState(ports=(1, 2), child=Child(pid=3, born=4.5), is_ready=True)
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("text", ["", "{", '{"ports": "x"}'])
def test_a_damaged_file_counts_as_none(tmp_path, text):
    (tmp_path / "state.json").write_text(text)
    assert read_state(tmp_path) is None


def test_no_file_is_none(tmp_path):
    assert read_state(tmp_path) is None
