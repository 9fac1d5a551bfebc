from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from lake_assets.runtime.processes import own_process
from lake_assets.state.turn_holders import Holder, holder_of, noted_holder


def test_who_has_a_turn_is_told_while_it_has_it(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/lake-assets", "refresh", "--view", "x" * 99])
    assert holder_of(tmp_path, "it") is None
    with noted_holder(tmp_path, "it"):
        holder = holder_of(tmp_path, "it")
        assert holder.process == own_process()
        assert holder.command.startswith("lake-assets refresh --view xxx")
        assert len(holder.command) == 80
        assert holder_of(tmp_path, "other") is None
    assert holder_of(tmp_path, "it") is None


def test_a_process_that_died_has_none(tmp_path):
    dead = Holder(process=replace(own_process(), start="never"), command="x", since=0.0)
    (tmp_path / "it.holder").write_bytes(TypeAdapter(Holder).dump_json(dead))
    assert holder_of(tmp_path, "it") is None


@pytest.mark.parametrize("content", [b"", b"{torn", b"\xff", b"[]"])
def test_a_note_that_cannot_be_read_tells_of_nobody(tmp_path, content):
    (tmp_path / "it.holder").write_bytes(content)
    assert holder_of(tmp_path, "it") is None


def test_a_note_that_cannot_be_written_stops_nobody(tmp_path):
    (tmp_path / "it.holder").mkdir()
    with noted_holder(tmp_path, "it"):
        assert holder_of(tmp_path, "it") is None
