import threading

import pytest

from lake_assets.sources.files.bucket_ahead import SMALL_BYTES, ReadAhead
from lake_assets.storage.bucket_files import ObjectSeen


def seen(name, size=4, etag="tag"):
    return ObjectSeen(name, size, 0, etag)


def test_small_files_with_a_tag_are_asked_for_and_taken_once():
    ahead = ReadAhead(lambda one, start, end: one.key.encode()[start:end])
    files = [seen("small"), seen("large", SMALL_BYTES + 1), seen("empty", 0), seen("bare", etag="")]
    ahead.ask(files)
    assert [ahead.take(one) is not None for one in files] == [True, False, False, False]
    assert ahead.take(files[0]) is None
    ahead.ask(files)
    read = ahead.take(files[0])
    assert read is not None
    assert (read(files[0], 0, 2), read(files[0], 1, 4)) == (b"sm", b"mal")


def test_an_error_is_raised_to_who_takes_the_file():
    def refuse(*_):
        raise FileNotFoundError

    ahead = ReadAhead(refuse)
    ahead.ask([seen("a")])
    read = ahead.take(seen("a"))
    assert read is not None
    with pytest.raises(FileNotFoundError):
        read(seen("a"), 0, 1)


def test_so_many_are_held_at_most_and_those_that_nobody_takes_are_let_go():
    asked, go = [], threading.Event()

    def read(one, *_):
        asked.append(one.key)
        assert go.wait(60)
        return b""

    ahead = ReadAhead(read)
    files = [seen(f"{number:02}") for number in range(60)]
    ahead.ask(files)
    ahead.ask(files[40:])
    go.set()
    taken = [ahead.take(one) for one in files]
    assert [reader is None for reader in taken] == [True] * 40 + [False] * 20
    for one, reader in zip(files, taken, strict=True):
        if reader is not None:
            reader(one, 0, 1)
    assert len(asked) <= 16 + 20  # those that had begun when they were let go, and these
