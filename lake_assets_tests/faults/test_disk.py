import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from faults.disk import Disk, FullDisk, ReadOnlyDisk, SlowDisk, cannot_mount, disk_faults, mounted
from lake_assets_tests.e2e.dev import wait_for

needs_mounts = pytest.mark.usefixtures("mounts")

SIZE = 16 * 1024 * 1024

ALL_KINDS = ("full disk", "read-only disk", "slow disk")


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - faults are to come again


@pytest.fixture
def system():
    lines = []
    return SimpleNamespace(log=lines.append, lines=lines)


def skip_without_mounts():
    reason = cannot_mount()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def mounts():
    skip_without_mounts()


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    skip_without_mounts()
    with mounted(tmp_path_factory.mktemp("faults") / "lake", SIZE) as one:
        yield one


def error_of(write) -> int | None:
    try:
        write()
    except OSError as problem:
        return problem.errno
    return None


def mounts_below(path: Path) -> list[str]:
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [point for point in points if point.startswith(str(path))]


def loops_of(path: Path) -> list[str]:
    """Files below `path` that the loop driver holds; it lets go a moment after the mount's end."""
    deadline = time.monotonic() + 20
    while True:
        files = [file.read_text() for file in Path("/sys/block").glob("loop*/loop/backing_file")]
        held = [file for file in files if file.startswith(str(path))]
        if not held or time.monotonic() > deadline:
            return held
        time.sleep(0.02)


@needs_mounts
def test_a_disk_is_empty_and_as_large_as_asked_and_goes_without_a_rest(tmp_path):
    lake = tmp_path / "home" / "lake"
    with mounted(lake, SIZE):
        assert list(lake.iterdir()) == []
        assert mounts_below(tmp_path) == [str(lake)]
        (lake / "a").write_bytes(bytes(SIZE // 2))
        assert error_of(lambda: (lake / "b").write_bytes(bytes(SIZE))) == errno.ENOSPC
    assert mounts_below(tmp_path) == []
    assert loops_of(tmp_path) == []
    assert list(lake.parent.iterdir()) == [lake]
    assert list(lake.iterdir()) == []


@needs_mounts
def test_it_goes_also_if_a_fault_is_on_when_its_block_fails(tmp_path, system):
    def fail_within():
        with mounted(tmp_path / "lake", SIZE) as disk:
            for fault in disk_faults(disk)[:2]:
                with fault.inject(system, seeded(1)):
                    pass
            with SlowDisk(disk).inject(system, seeded(1)):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_within()
    assert mounts_below(tmp_path) == loops_of(tmp_path) == []


@needs_mounts
@pytest.mark.parametrize("seed", range(4))
def test_a_full_disk_takes_no_data_also_when_some_is_deleted(disk, system, seed):
    old, new = disk.path / "old", disk.path / "new"
    old.write_bytes(bytes(2**22))
    with FullDisk(disk).inject(system, seeded(seed)) as done:
        assert error_of(lambda: new.write_bytes(bytes(2**21))) == errno.ENOSPC
        assert sorted(path.name for path in disk.path.iterdir()) == ["new", "old"]
        new.unlink()
        old.unlink()
        time.sleep(0.2)
        wait_for(lambda: shutil.disk_usage(disk.path).free < 2**21, "its filling", within_s=120)
        assert error_of(lambda: new.write_bytes(bytes(2**21))) == errno.ENOSPC
        assert "fill the lake's disk" in done
    new.write_bytes(bytes(2**22))
    new.unlink()


@needs_mounts
def test_a_read_only_disk_can_be_read_and_takes_nothing(disk, system):
    path = disk.path / "old"
    path.write_text("old")
    with ReadOnlyDisk(disk).inject(system, seeded(1)):
        assert path.read_text() == "old"
        assert error_of(lambda: path.write_text("new")) == errno.EROFS
        assert error_of(lambda: path.rename(disk.path / "other")) == errno.EROFS
        assert error_of(path.unlink) == errno.EROFS
        reader = path.open()
        folder = os.open(disk.path, os.O_RDONLY)
    with reader:
        path.write_text("new")
        # Also for who came meanwhile, and stays where it was.
        os.unlink("old", dir_fd=folder)
    os.close(folder)
    assert mounts_below(disk.path) == [str(disk.path)]


def seconds_of_writes(folder: Path) -> float:
    began = time.monotonic()
    for _ in range(5):
        (folder / "a").write_text("a")
        (folder / "a").unlink()
        time.sleep(0.01)
    return time.monotonic() - began


def is_quick(folder: Path) -> bool:
    """Whether writes meet no stall for a while; a busy machine may hold up some of them."""
    return any(all(seconds_of_writes(folder) < 0.3 for _ in range(5)) for _ in range(10))


def seconds_of_slow_writes(folder: Path) -> float:
    """Of the first that wait; stalls begin some time after the fault."""
    deadline = time.monotonic() + 60
    while (seconds := seconds_of_writes(folder)) < 0.3:
        assert time.monotonic() < deadline
    return seconds


@needs_mounts
def test_a_slow_disk_lets_writes_wait_and_not_reads(disk, system):
    fault = SlowDisk(disk)
    if disk.in_memory:
        assert "cannot be frozen" in (fault.unavailable() or "")
        pytest.skip(fault.unavailable())
    assert is_quick(disk.path)
    (disk.path / "read").write_text("a")
    with fault.inject(system, seeded(3)):
        within = max(seconds_of_slow_writes(disk.path) for _ in range(3))
        began = time.monotonic()
        for _ in range(100):
            (disk.path / "read").read_text()
        reads = time.monotonic() - began
    assert reads < within
    assert "times" in system.lines[0]
    assert is_quick(disk.path)


@needs_mounts
def test_a_disk_thaws_when_who_slows_it_is_killed(disk):
    if disk.in_memory:
        pytest.skip("a disk in memory cannot be frozen")
    code = (
        "import sys, time; from pathlib import Path; from random import Random;"
        "from types import SimpleNamespace; from faults.disk import Disk, SlowDisk;"
        "disk = Disk(path=Path(sys.argv[1]), in_memory=False);"
        "slow = SlowDisk(disk).inject(SimpleNamespace(log=print), Random(1)); slow.__enter__();"
        "print('on', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(disk.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as slowing:  # noqa: S603
        assert slowing.stdout.readline() == "on\n"
        time.sleep(0.5)
        slowing.kill()
    assert is_quick(disk.path)


def test_where_the_lake_has_no_disk_of_its_own_each_fault_says_so():
    reason = cannot_mount() or "the lake has no disk of its own here"
    assert {f.name: f.unavailable() for f in disk_faults(None)} == dict.fromkeys(ALL_KINDS, reason)


def test_a_disk_in_memory_can_be_filled_and_not_frozen():
    disk = Disk(path=Path("/nowhere"), in_memory=True)
    said = {fault.name: fault.unavailable() for fault in disk_faults(disk)}
    assert said["full disk"] is said["read-only disk"] is None
    assert "in memory, which cannot be frozen" in str(said["slow disk"])


def test_without_the_right_to_mount_it_is_said_by_name():
    through = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    code = "from faults.disk import disk_faults; print(disk_faults(None)[0].unavailable())"
    command = [*(through if os.geteuid() == 0 else []), sys.executable, "-c", code]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    assert done.stdout.startswith("a disk cannot be mounted (mount: ")
    assert "permission denied" in done.stdout
