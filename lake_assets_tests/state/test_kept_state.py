"""State that is kept in a bucket, on a real server that speaks S3, by machines with own folders."""

import json
import logging
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lake_assets.alerts.alert_round import go_round
from lake_assets.alerts.decide import Look
from lake_assets.alerts.outbox import Book, write_book
from lake_assets.errors import ForeignStateError, LakeError
from lake_assets.settings.schema import Settings, StorageSettings
from lake_assets.spark.lake_context import writable
from lake_assets.state import keep
from lake_assets.state.binding import Bound, Refuse
from lake_assets.state.keep import keep_now, kept_current
from lake_assets.state.lake_facts import kept_of
from lake_assets.state.lake_id import lake_id, look_at_binding
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.state.test_lake_record import noted


@pytest.fixture
def make(s3, bucket, tmp_path):
    """Settings of one lake by the machine, which is known by its home."""

    def made(home: str = "one", lake: str = "lake", state: str | None = None) -> Settings:
        root = f"s3://{bucket}/{lake}"
        return Settings(
            lake=Path(root),
            home=tmp_path / home,
            state=Path(f"{root}/_state" if state is None else state.format(bucket=bucket)),
            storage=StorageSettings(options=s3.options),
        )

    return made


def put(settings, name, text):
    (settings.state_dir / name).parent.mkdir(parents=True, exist_ok=True)
    (settings.state_dir / name).write_text(text)


def files(settings):
    folder = settings.state_dir
    return {
        name: (folder / name).read_text()
        for name in ("alerts.json", "failing/games.json", "sinks/games-api.json")
        if (folder / name).exists()
    }


def kept(settings):
    store = lake_of(settings)
    return json.loads(store.get(store.root / "_state" / "state.json"))


def test_a_machine_that_was_never_here_has_all_before_it_is_the_lake_s(make):
    first, second = make(), make("two")
    id_ = lake_id(first)
    put(first, "alerts.json", "told")
    put(first, "failing/games.json", "{}")
    put(first, "heartbeat.json", "of a process")
    keep_now(first)
    assert lake_id(second) == id_
    assert files(second) == {"alerts.json": "told", "failing/games.json": "{}"}
    assert set(kept(first)["files"]) == set(files(second))
    assert look_at_binding(first) == look_at_binding(second) == Bound(id_)
    assert (
        noted(first)["state"]["path"]
        == str(first.state_root)
        == kept(first)["record"]["state"]["path"]
    )


def test_a_folder_that_is_lost_is_made_again_in_silence(make, caplog):
    settings = make()
    id_ = lake_id(settings)
    put(settings, "sinks/games-api.json", "batch")
    keep_now(settings)
    shutil.rmtree(settings.home)
    assert lake_id(settings) == id_
    assert files(settings) == {"sinks/games-api.json": "batch"}
    assert caplog.messages == []


def test_while_a_lake_is_written_what_changes_is_kept(make, monkeypatch):
    monkeypatch.setattr(keep, "_EVERY_S", 0.05)
    settings = make()
    lake_id(settings)
    with writable(settings):
        put(settings, "alerts.json", "1")
        until = time.monotonic() + 30
        while kept(settings)["files"] != {"alerts.json": "1"}:
            assert time.monotonic() < until
            time.sleep(0.05)
        monkeypatch.setattr(keep, "_EVERY_S", 3600)
        put(settings, "alerts.json", "2")
    assert kept(settings)["files"] == {"alerts.json": "2"}


def test_an_old_folder_takes_over_what_was_kept_since(make):
    first, second = make(), make("two")
    for settings in (first, second):
        lake_id(settings)
        with writable(settings):
            put(settings, "alerts.json", settings.home.name)
    put(first, "alerts.json", "what it wrote before it died")
    with writable(first):
        assert files(first) == {"alerts.json": "two"}


def test_what_a_killed_machine_did_not_keep_counts_if_nobody_wrote_since(make):
    settings = make()
    lake_id(settings)
    put(settings, "alerts.json", "before the kill")
    with writable(settings):
        assert kept(settings)["files"] == {"alerts.json": "before the kill"}


def test_who_does_not_write_the_lake_comes_second(make):
    writer, other = make(), make("two")
    for settings in (writer, other):
        lake_id(settings)
    with writable(writer):
        for settings, text in ((other, "other"), (writer, "writer")):
            put(settings, "alerts.json", text)
        put(other, "failing/games.json", "other alone")
        keep_now(other)
        keep_now(writer)
        assert kept(writer)["files"] == {
            "alerts.json": "writer",
            "failing/games.json": "other alone",
        }
        keep_now(other)  # it has nothing new
        assert files(other)["alerts.json"] == "other"
        put(other, "alerts.json", "other again")
        keep_now(other)
        assert files(other)["alerts.json"] == files(writer)["alerts.json"] == "writer"


def test_of_many_machines_at_once_none_loses_what_it_alone_changed(make):
    every = [make(str(number)) for number in range(6)]
    with ThreadPoolExecutor(len(every)) as pool:
        assert len(set(pool.map(lake_id, every))) == 1
        barrier = threading.Barrier(len(every))

        def change(settings):
            put(settings, f"failing/{settings.home.name}.json", settings.home.name)
            barrier.wait()
            for _ in range(20):
                keep_now(settings)

        list(pool.map(change, every))
    names = {f"failing/{settings.home.name}.json" for settings in every}
    assert set(kept(every[0])["files"]) == names


def test_a_deleted_file_is_deleted_everywhere(make):
    first, second = make(), make("two")
    lake_id(first)
    put(first, "failing/games.json", "{}")
    keep_now(first)
    lake_id(second)
    (first.state_dir / "failing/games.json").unlink()
    keep_now(first)
    assert kept(first)["files"] == {}
    with writable(second):
        assert files(second) == {}


def test_a_round_of_alerts_is_kept_though_nothing_writes_the_lake(make):
    settings = make()
    lake_id(settings)
    write_book(settings.state_dir, Book())
    go_round(settings, lambda _: Look(now=0, utc_now=0, problems={}), logging.getLogger())
    assert files(settings).keys() == kept(settings)["files"].keys() == {"alerts.json"}


def test_what_somebody_deleted_is_made_again(make):
    settings = make()
    lake_id(settings)
    put(settings, "alerts.json", "told")
    keep_now(settings)
    store = lake_of(settings)
    store.delete(store.root / "_state" / "state.json")
    with writable(settings):
        assert kept(settings)["files"] == {"alerts.json": "told"}
    assert lake_id(make("two")) == lake_id(settings)


def test_what_is_damaged_is_told_and_left(make, caplog):
    settings = make()
    lake_id(settings)
    store = lake_of(settings)
    store.delete(store.root / "_state" / "state.json")
    store.put_if_absent(store.root / "_state" / "state.json", b'{"record": {')
    with pytest.raises(LakeError, match="is no state of a lake"), kept_current(settings):
        pytest.fail("it is not current")
    with pytest.raises(LakeError, match="is no state of a lake"):
        lake_id(make("two"))
    put(settings, "alerts.json", "told")
    keep_now(settings)
    assert "is no state of a lake" in caplog.text
    assert store.get(store.root / "_state" / "state.json") == b'{"record": {'


def test_a_store_that_is_away_for_a_while_is_tried_again(make, s3, caplog):
    settings = make()
    lake_id(settings)
    put(settings, "alerts.json", "told")
    s3.refuse("PUT", "state.json", "SlowDown", status=503)
    try:
        brisk = {**s3.options, "max_retries": "0"}
        keep_now(settings.model_copy(update={"storage": StorageSettings(options=brisk)}))
    finally:
        s3.forgive()
    assert "is tried again" in caplog.text
    keep_now(settings)
    assert kept(settings)["files"] == {"alerts.json": "told"}


def test_the_state_of_another_lake_is_refused(make):
    id_ = lake_id(make())
    other = make(lake="other", state="s3://{bucket}/lake/_state")
    with pytest.raises(ForeignStateError, match=id_):
        lake_id(other)
    assert isinstance(look_at_binding(other), Refuse)


def test_a_second_address_is_refused_while_the_first_has_the_state(make):
    lake_id(make())
    with pytest.raises(ForeignStateError, match=r"this lake's state is s3://\S+/lake/_state"):
        lake_id(make(state="s3://{bucket}/elsewhere"))


def test_a_copy_of_the_lake_with_its_state_is_another_lake(make):
    first, copy = make(), make(lake="copy")
    before = lake_id(first)
    put(first, "alerts.json", "told")
    keep_now(first)
    store = lake_of(copy)
    for name in ("_lake.json", "_state/state.json"):
        content = lake_of(first).get(lake_of(first).root / name)
        store.put_if_absent(store.root / name, content)
    assert lake_id(copy) != before
    assert lake_id(first) == before
    assert kept(copy)["record"]["id"] == lake_id(copy)
    assert files(copy) == {"alerts.json": "told"}


def test_the_state_of_a_volume_is_taken_along(make, tmp_path):
    volume = make(state=str(tmp_path / "volume"))
    id_ = lake_id(volume)
    put(volume, "alerts.json", "told")
    into = make()
    assert lake_id(into) == id_
    assert kept(into)["files"] == files(into) == {"alerts.json": "told"}
    with pytest.raises(ForeignStateError, match="this lake's state is kept in s3://"):
        lake_id(volume)


def test_nothing_is_asked_of_the_bucket_where_nothing_changed(make, s3):
    settings = make()
    lake_id(settings)
    put(settings, "alerts.json", "told")
    keep_now(settings)
    s3.asked()
    lake_id(settings)
    keep_now(settings)
    assert [path for _, path, _, _ in s3.asked() if "_state" in path] == []
    assert kept_of(settings) is not None
