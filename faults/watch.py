"""How the rows flow, seen from outside each second: acknowledged, visible, and how far behind.

It reads the producer's journal and the ends of the tables' logs, as any reader of the lake might,
and knows nothing of the product. While a store is away it sees nothing, and says so.
"""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pyarrow as pa

from faults.delta_log import LOG, read_file
from faults.journal import Acked, Reading
from faults.places import Place
from faults.reader import Names

_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A second of the run."""

    at: float
    """Seconds since the run began."""

    acked: int
    """Events until then."""

    visible: int
    """Of them, those that are in silver or quarantine."""

    lag_s: float
    """How long the oldest that is not has been waiting."""

    blind: bool
    """Whether the lake could not be looked at."""


class _Tail:
    """The commits of a table, one after the other, and where their rows are of."""

    def __init__(self, place: Place, table: str, columns: tuple[str, str]) -> None:
        self._place, self._table, self._columns = place, table, columns
        self._next = 0

    def add_to(self, found: set[tuple[int, int]]) -> None:
        """Add where the rows of new commits are of; an error leaves the rest to the next time."""
        while True:
            try:
                text = self._place.read(f"{self._table}/{LOG}/{self._next:020}.json")
            except FileNotFoundError:
                return
            for line in text.splitlines():
                add = json.loads(line).get("add")
                # A file that is joined from others, or was joined since, has nothing new.
                if add is not None and add.get("dataChange", True):
                    found |= self._places(add["path"])
            self._next += 1

    def _places(self, path: str) -> set[tuple[int, int]]:
        try:
            rows = read_file(self._place, f"{self._table}/{path}", self._columns)
        except FileNotFoundError:
            return set()
        return set(zip(*(rows[name].to_pylist() for name in self._columns), strict=True))


class Watch:
    """Looks each second, from `start` to `end`."""

    def __init__(
        self, place: Place, names: Names, journal: Reading, log: Callable[[str], None]
    ) -> None:
        """Begin with nothing seen."""
        self.began, self.acked, self.samples = time.time(), list[Acked](), list[Sample]()
        self.failure: Exception | None = None
        self.load: subprocess.Popen[str] | None = None
        """The producer; without it nothing can be waited for."""
        self._place, self._names, self._journal, self._log = place, names, journal, log
        self._tails: dict[str, _Tail] = {}
        self._waiting: dict[tuple[int, int], Acked] = {}
        self._early: set[tuple[int, int]] = set()
        self._newest = 0.0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def end(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join(60)

    @property
    def waiting(self) -> int:
        """How many acknowledged events are not visible."""
        with self._lock:
            return len(self._waiting)

    @property
    def visible(self) -> int:
        """How many are."""
        with self._lock:
            return len(self.acked) - len(self._waiting)

    def is_visible_after(self, moment: float) -> bool:
        """Whether an event is visible that was acknowledged after that time."""
        with self._lock:
            return self._newest > moment

    def examples(self) -> list[str]:
        """Some that are waited for."""
        with self._lock:
            oldest = sorted(self._waiting.values(), key=lambda event: event.at)[:3]
        return [f"{e.id} of {e.game or 'nobody'} at {e.partition}/{e.offset}" for e in oldest]

    def longest_outage_s(self) -> float:
        """The longest time in which no row became visible, once the first had."""
        longest, last = 0.0, None
        before = 0
        for sample in self.samples:
            if sample.visible > before or not sample.acked:
                last, before = sample.at, sample.visible
            elif last is not None and sample.acked > sample.visible:
                longest = max(longest, sample.at - last)
            else:
                last = sample.at
        return round(longest, 1)

    def as_records(self) -> list[dict[str, object]]:
        """The samples, for the report."""
        return [asdict(sample) for sample in self.samples]

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._look()
            except Exception as problem:  # noqa: BLE001 - told by the run's own thread
                self.failure = problem
                self._log(f"the watch failed: {problem!r}")
                return
            self._stop.wait(max(0.0, _EVERY_S - (time.monotonic() - began)))

    def _look(self) -> None:
        places, blind = set[tuple[int, int]](), False
        events = self._journal.more()
        try:
            for tail in self._all_tails():
                tail.add_to(places)
        except (OSError, pa.ArrowException):
            blind = True
        now = time.time()
        with self._lock:
            self.acked += events
            self._waiting |= {event.place: event for event in events}
            # What is visible may be in the journal a moment later.
            self._early |= places
            for place in [place for place in self._waiting if place in self._early]:
                self._newest = max(self._newest, self._waiting.pop(place).at)
                self._early.discard(place)
            oldest = min((event.at for event in self._waiting.values()), default=now)
            self.samples.append(
                Sample(
                    at=round(now - self.began, 2),
                    acked=len(self.acked),
                    visible=len(self.acked) - len(self._waiting),
                    lag_s=round(max(0.0, now - oldest), 2),
                    blind=blind,
                )
            )

    def _all_tails(self) -> list[_Tail]:
        names = self._names
        for folder in ("silver", "quarantine"):
            for table in self._place.folders(folder):
                if table in self._tails:
                    continue
                if table == names.quarantine:
                    self._tails[table] = _Tail(self._place, table, ("partition", "offset"))
                elif names.key_of(table) is not None:
                    self._tails[table] = _Tail(self._place, table, ("_partition", "_offset"))
        return [*self._tails.values()]
