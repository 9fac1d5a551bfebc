"""What each store promises (`storage.store`), as tests that any of them can run.

A test module of a store has a fixture `place`, and a class of its own of `StoreContract`.
"""

import hashlib
import multiprocessing
import pickle
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.store import Store

ODD = "jo s\u00e9 100% %20 {y} [z] * + & ' \" , = ; : $ ~ ( ) @ ! < > ` # ? ^ |."

PROCESSES, THREADS, ROUNDS = 2, 8, 12


@dataclass(frozen=True)
class Place:
    """A folder of a store, which is there and empty."""

    store: Store
    folder: LakeUri
    clock_s: float = 0.0
    """Seconds that the store's clock goes in steps of."""
    page: int = 0
    """Names that the store tells at once; 0 where it tells all."""
    has_java_s_order: bool = False
    """Whether names are in order by halves of characters that have two, as in Java."""
    has_folders: bool = False
    """Whether a folder is told for a while after its last file was deleted."""

    def put(self, *names: str, content: bytes = b"x") -> None:
        for name in names:
            self.store.make_folder((self.folder / name).parent)
            assert self.store.put_if_absent(self.folder / name, content)

    def names(self, start: str = "") -> list[str]:
        return list(self.store.list_from(self.folder, start))


class StoreContract:
    """Tests that want a fixture `place`."""

    def test_a_store_below_has_the_same_files(self, place: Place):
        below = place.store.below(place.folder / "inner")
        assert (below.root, type(below)) == (place.folder / "inner", type(place.store))
        place.put("inner/0.json")
        assert below.get(below.root / "0.json") == b"x"

    def test_a_free_name_is_taken_once(self, place: Place):
        file = place.folder / "0.json"
        assert place.store.put_if_absent(file, b"first")
        assert not place.store.put_if_absent(file, b"second")
        assert place.store.get(file) == b"first"
        assert place.names() == ["0.json"]

    @pytest.mark.parametrize("size", [0, 1, 300_000, 20_000_000])
    def test_what_was_put_is_what_is_got(self, place: Place, size):
        file = place.folder / "file"
        content = bytes(range(256)) * (size // 256) + bytes(size % 256)
        assert place.store.put_if_absent(file, content)
        assert place.store.get(file) == content
        assert place.store.stat(file).size == size

    def test_of_racers_at_once_exactly_one_wins(self, place: Place):
        files = [place.folder / f"{number}.json" for number in range(ROUNDS)]
        context = multiprocessing.get_context("spawn")
        barrier, queue = context.Barrier(PROCESSES), context.SimpleQueue()
        racers = [
            context.Process(target=_race, args=(place.store, files, barrier, queue))
            for _ in range(PROCESSES)
        ]
        for racer in racers:
            racer.start()
        wins = [queue.get() for _ in racers]
        for racer in racers:
            racer.join()
        won = [[content for each in wins for content in each[number]] for number in range(ROUNDS)]
        assert [len(contents) for contents in won] == [1] * ROUNDS
        assert [[place.store.get(file)] for file in files] == won

    def test_what_is_not_there_is_told_and_may_be_deleted(self, place: Place):
        for file in (place.folder / "none", place.folder / "no folder/none"):
            assert place.store.stat(file) is None
            with pytest.raises(FileNotFoundError):
                place.store.get(file)
            with pytest.raises(FileNotFoundError):
                place.store.sync(file)
            place.store.delete(file)
        assert list(place.store.list_from(place.folder / "no folder")) == []

    def test_a_deleted_name_is_free_again(self, place: Place):
        place.put("a", content=b"1")
        place.store.delete(place.folder / "a")
        assert (place.names(), place.store.stat(place.folder / "a")) == ([], None)
        place.put("a", content=b"2")
        assert place.store.get(place.folder / "a") == b"2"

    def test_another_file_of_the_name_is_told_by_its_tag(self, place: Place):
        tags = set()
        for number in range(3):
            time.sleep(place.clock_s if number else 0)
            place.put("file", content=b"same")
            stat = place.store.stat(place.folder / "file")
            assert stat == place.store.stat(place.folder / "file")
            assert abs(stat.modified_ns / 1e9 - time.time()) < 60
            tags.add(stat.tag)
            place.store.delete(place.folder / "file")
        assert len(tags) == 3

    def test_folders_are_told_in_order_and_files_are_none(self, place: Place):
        place.put("b/1", "a/2", "a/deep/3", "\u00e9 x/4", "file", ".hidden/5")
        assert place.store.folders(place.folder) == [".hidden", "a", "b", "\u00e9 x"]
        assert place.store.folders(place.folder / "a") == ["deep"]
        assert place.store.folders(place.folder / "none") == []

    def test_a_folder_goes_with_all_below_it(self, place: Place):
        names = [f"gone/{number}/{number}" for number in range(30)]
        place.put("gone/x", "gone/deep/down/y", "gone too/z", "stays", *names)
        place.store.delete_folder(place.folder / "gone")
        left = ["gone", "gone too"] if place.has_folders else ["gone too"]
        assert place.store.folders(place.folder) == left
        assert place.names() == ["stays"]
        assert place.store.stat(place.folder / "gone/deep/down/y") is None
        place.put("gone/x", content=b"new")
        assert list(place.store.list_from(place.folder / "gone")) == ["x"]
        place.store.delete_folder(place.folder / "none")

    def test_parts_of_a_file_can_be_read(self, place: Place):
        rows = pa.table({"a": list(range(300_000)), "b": ["x"] * 300_000})
        with place.store.open_for_writing(place.folder / "part.parquet") as stream:
            pq.write_table(rows, stream, row_group_size=100_000)
        with (
            place.store.open_for_reading(place.folder / "part.parquet") as source,
            pq.ParquetFile(source) as file,
        ):
            assert file.num_row_groups == 3
            assert file.read_row_group(1, columns=["a"]) == rows.slice(100_000, 100_000).select(
                ["a"]
            )
            assert file.read() == rows

    def test_a_file_that_is_not_there_cannot_be_read(self, place: Place):
        with (
            pytest.raises(FileNotFoundError),
            place.store.open_for_reading(place.folder / "none") as source,
        ):
            pq.read_table(source)

    def test_a_list_begins_at_a_name_and_is_in_order(self, place: Place):
        names = [f"{number:020}.json" for number in (9, 10, 99, 100, 101)]
        more = ["_last", f"{10:020}.checkpoint.parquet", "\u00e9", "\uffee", "Z", "a"]
        more += [] if place.has_java_s_order else ["\U0001f600"]
        place.put(*names, *more, "folder/inside", f"{101:020}/inside")
        everything = sorted([*names, *more])
        assert place.names() == everything
        for start in [*everything, f"{100:020}", "0", "b", "\U0010ffff"]:
            assert place.names(start) == [name for name in everything if name >= start]

    def test_a_long_list_comes_piece_by_piece(self, place: Place):
        names = [f"{number:05}" for number in range(place.page + 100)]
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda n: place.store.put_if_absent(place.folder / n, b""), names))
        assert place.names("00010") == names[10:]
        first = place.store.list_from(place.folder)
        assert next(first) == "00000"

    @pytest.mark.parametrize("name", [ODD, "trailing ", ".hidden", "_under", "a%2Fb", "%25"])
    def test_a_name_is_taken_as_it_is(self, place: Place, name):
        place.put(f"{name}/{name}", content=name.encode())
        folder = place.folder / name
        assert list(place.store.list_from(folder)) == [name]
        assert place.store.get(folder / name) == name.encode()
        assert place.store.stat(folder / name).size == len(name.encode())
        with place.store.open_for_writing(folder / name) as file:
            file.write(b"other")
        assert place.store.get(folder / name) == b"other"
        place.store.delete(folder / name)
        assert list(place.store.list_from(folder)) == []

    def test_a_file_is_seen_when_it_is_whole(self, place: Place):
        file, piece = place.folder / "deep/down/part.parquet", bytes(1_000_000)
        with place.store.open_for_writing(file) as stream:
            for _ in range(20):
                stream.write(piece)
                assert place.store.stat(file) is None
            assert list(place.store.list_from(file.parent)) == []
        assert place.store.stat(file).size == 20_000_000
        assert list(place.store.list_from(file.parent)) == [file.name]

    @pytest.mark.parametrize("pieces", [0, 1, 20])
    def test_a_file_whose_writer_fails_is_never_seen(self, place: Place, pieces):
        place.put("old", content=b"old")
        for name in ("new", "old"):
            with pytest.raises(ZeroDivisionError):
                _write_and_fail(place.store, place.folder / name, pieces)
        assert place.names() == ["old"]
        assert place.store.get(place.folder / "old") == b"old"

    def test_a_file_of_a_killed_writer_is_never_seen(self, place: Place):
        context = multiprocessing.get_context("spawn")
        written = context.Event()
        args = (place.store, place.folder / "torn", written)
        writer = context.Process(target=_write_on, args=args)
        writer.start()
        assert written.wait(60)
        writer.kill()
        writer.join()
        assert place.names() == []
        assert place.store.stat(place.folder / "torn") is None

    def test_a_file_takes_the_place_of_another(self, place: Place):
        place.put("file", content=b"long before")
        with place.store.open_for_writing(place.folder / "file") as stream:
            stream.write(b"")
            stream.write(memoryview(b"now"))
        assert place.store.get(place.folder / "file") == b"now"

    def test_pyarrow_writes_into_it(self, place: Place):
        rows = pa.table({"a": list(range(200_000))})
        with place.store.open_for_writing(place.folder / "part.parquet") as stream:
            pq.write_table(rows, stream)
        found = place.store.get(place.folder / "part.parquet")
        assert pq.read_table(pa.BufferReader(found)) == rows

    def test_a_large_file_is_what_was_written(self, place: Place):
        digest, file = hashlib.sha256(), place.folder / "large"
        with place.store.open_for_writing(file) as stream:
            for number in range(60):
                piece = number.to_bytes(2, "big") * 500_001
                digest.update(piece)
                stream.write(piece)
        assert hashlib.sha256(place.store.get(file)).digest() == digest.digest()

    def test_what_was_written_can_be_made_durable(self, place: Place):
        place.put("file")
        place.store.flush()
        place.store.sync(place.folder / "file")

    def test_a_store_can_be_used_in_another_process(self, place: Place):
        place.put("file", content=b"x")
        copy = pickle.loads(pickle.dumps(place.store))  # noqa: S301 - our own bytes
        assert copy.get(place.folder / "file") == b"x"
        assert copy.root == place.store.root

    def test_names_that_are_staged_are_nobodys(self, place: Place):
        place.put("a.tmp", "b")
        assert place.names() == ["b"]

    def test_what_is_being_written_is_staged_or_out_of_sight(self, place: Place):
        place.put("b")
        with place.store.open_for_writing(place.folder / "c") as stream:
            stream.write(b"x")
            staged = place.store.staged(place.folder)
            assert len(staged) == (1 if place.folder.is_local else 0)
            assert [place.store.stat(place.folder / name) is not None for name in staged] in (
                [True],
                [],
            )
        assert place.store.staged(place.folder) == []
        assert place.store.staged(place.folder / "none") == []

    def test_a_name_that_leads_elsewhere_is_refused(self, place: Place):
        with pytest.raises(LakeError, match="can have nothing below it"):
            place.store.get(place.folder / "../other")


def _race(store: Store, files: Sequence[LakeUri], barrier: Barrier, queue) -> None:
    """Take part with some threads, and tell by round which contents were put."""
    start = threading.Barrier(THREADS)
    me = multiprocessing.current_process().pid
    wins: list[list[bytes]] = []

    def put(file: LakeUri, number: int) -> bytes | None:
        content = f"{me}-{number}".encode()
        start.wait(60)
        return content if store.put_if_absent(file, content) else None

    with ThreadPoolExecutor(THREADS) as pool:
        for file in files:
            barrier.wait(60)
            made = list(pool.map(put, [file] * THREADS, range(THREADS)))
            wins.append([content for content in made if content is not None])
    queue.put(wins)


def _write_and_fail(store: Store, file: LakeUri, pieces: int) -> None:
    with store.open_for_writing(file) as stream:
        for _ in range(pieces):
            stream.write(bytes(1_000_000))
        raise ZeroDivisionError


def _write_on(store: Store, file: LakeUri, written) -> None:
    """Write some, tell so, and wait to be killed."""
    with store.open_for_writing(file) as stream:
        for _ in range(12):
            stream.write(bytes(1_000_000))
        written.set()
        threading.Event().wait()
