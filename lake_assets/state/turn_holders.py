"""Who has a turn that others may wait for long: noted beside its lock, for words alone.

The lock decides who has it (`state.files.turn`). A note whose process is gone is nobody's.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.model.processes import ProcessId
from lake_assets.runtime.processes import is_alive, own_process

_MOST_COMMAND = 80
"""Characters of a command; those that Dagster starts are thousands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """A process that has a turn."""

    process: ProcessId
    command: str
    """What it was started as, cut off where it is long."""

    since: float
    """`time.monotonic()`, which is the same for all processes of a boot."""


_HOLDER = TypeAdapter(Holder)


@contextmanager
def noted_holder(state_dir: Path, task: str) -> Iterator[None]:
    """Note that this process has the turn of a task, as long as the block runs, which has it."""
    file = _file(state_dir, task)
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:_MOST_COMMAND]
    holder = Holder(process=own_process(), command=command, since=time.monotonic())
    with suppress(OSError):  # on a full disk nobody is told
        file.write_bytes(_HOLDER.dump_json(holder))
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def holder_of(state_dir: Path, task: str) -> Holder | None:
    """Who has a turn, if that can be told: of this machine, container and boot, and alive."""
    try:
        holder = _HOLDER.validate_json(_file(state_dir, task).read_bytes())
    except (OSError, ValidationError):
        return None
    return holder if is_alive(holder.process) else None


def _file(state_dir: Path, task: str) -> Path:
    return state_dir / f"{task}.holder"
