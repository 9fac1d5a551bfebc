"""What users have done beside the streams, all the while: upkeep, rebuilds, refreshes, erasure.

Each kind of work is a function of its own. New keys and new versions of the schema come with the
load. Work is never the target of a fault, but what it works with is: it may fail while a fault is
on or streams recover, and then has to say so; if it fails at any other time, the run has failed. An
erasure may also say that it is not done yet: it has to be done at the end.
"""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from random import Random

from faults.journal import Acked
from faults.lake import FEED
from faults.load import window_of
from faults.stack import Stack

_WITHIN_S = 300.0
"""For a piece of work. It waits for services and locks, as long as a fault lasts."""

_ERASURE = "erase"

NOT_YET = "not done yet: "
"""What an erasure says of what others still work with; it is to be asked for again then."""


@dataclass(slots=True)
class Done:
    """A piece of work that was done, or failed."""

    kind: str
    at: float
    """Seconds since the run began, as all times of a report."""

    seconds: float
    status: int
    said: str
    """The last line of what it said; of a failure, its error."""

    @property
    def has_failed(self) -> bool:
        """Whether it was not done; gold that a check holds up (3, 4) is what its feed asks for."""
        return self.status not in {0, 3, 4}


@dataclass
class Work:
    """Does one piece of work after the other, in an order that chance has."""

    stack: Stack
    random: Random
    acked: Callable[[], list[Acked]]
    """The journal until now."""

    began: float
    """`time.time`."""

    pause_s: tuple[float, float]
    done: list[Done] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    """Ids of events whose player's erasure was asked for, and was said to be done."""

    doubtful: set[str] = field(default_factory=set)
    """Ids of those whose erasure was asked for and failed, and of those that were acknowledged
    when it had begun: they may be there or not."""

    _unsure: set[str] = field(default_factory=set)
    """Players whose erasure is to be asked for again."""

    _players: set[str] = field(default_factory=set)
    """All of whom it was asked for."""

    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self, once: Sequence[str] = ()) -> None:
        """Begin; with some kinds given, do each of them once, and nothing more."""
        self._thread = threading.Thread(target=self._run, args=(once,), name="work", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Finish what is in hand, and begin nothing more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def finish_erasures(self) -> list[str]:
        """Have what was begun and not done be done, now that no fault is on; says what is not."""
        problems = []
        for who in sorted(self._unsure):
            self._do(_ERASURE, _erasure_of(who))
            if who in self._unsure:
                last = self.done[-1]
                problems.append(f"`erase` of {who} ended with {last.status}: {last.said}")
        # The broker may have had them before the erasure, and have said so after it.
        late = {event.id for event in self.acked() if event.gamer in self._players}
        self.doubtful |= late - self.erased
        return problems

    def records(self) -> list[dict[str, object]]:
        """For the report."""
        return [asdict(one) for one in self.done]

    def _run(self, once: Sequence[str]) -> None:
        kinds: dict[str, Callable[[], tuple[str, ...] | None]] = {
            "maintain": maintain,
            "rebuild silver": rebuild_silver,
            "rebuild gold": rebuild_gold,
            "refresh": refresh,
        }
        if _knows(self.stack, _ERASURE):
            kinds[_ERASURE] = self._erasure
        else:
            self.skipped[_ERASURE] = f"`lake-assets {_ERASURE}` is not there yet"
        for kind in once or self._forever([*kinds]):
            if self._stop.wait(self.random.uniform(*self.pause_s)):
                return
            arguments = kinds[kind]()
            if arguments is not None:
                self._do(kind, arguments)

    def _forever(self, kinds: Sequence[str]) -> Iterator[str]:
        while True:
            yield from self.random.sample(kinds, len(kinds))

    def _do(self, kind: str, arguments: tuple[str, ...]) -> None:
        at = time.time()
        asked = self._asked_to_erase(arguments) if kind == _ERASURE else set()
        self.stack.log(f"work: lake-assets {' '.join(arguments)}")
        try:
            done = self.stack.command(*arguments, within_s=_WITHIN_S)
            status, line = done.returncode, _last_words(done)
        except subprocess.TimeoutExpired:
            status, line = -1, f"took longer than {_WITHIN_S:.0f} s"
        if kind == _ERASURE:
            self._note_erasure(_who(arguments), asked, is_done=status == 0)
        self.done.append(
            Done(kind, round(at - self.began, 1), round(time.time() - at, 1), status, line)
        )
        self.stack.log(f"work: {kind} ended with {status}: {line}")

    def _note_erasure(self, who: str, asked: set[str], *, is_done: bool) -> None:
        self._players.add(who)
        if is_done:
            self.erased |= asked
            self.doubtful -= asked
            self._unsure.discard(who)
        else:
            self.doubtful |= asked
            self._unsure.add(who)

    def _erasure(self) -> tuple[str, ...] | None:
        """Of a player who plays no more: all of the player's events were acknowledged before."""
        # Its own chance: how much it draws does not change what comes after it.
        chance = Random(self.random.randrange(2**32))  # noqa: S311 - need not be secret
        events = [event for event in self.acked() if event.gamer]
        newest = max((window_of(event.gamer) for event in events), default=0)
        gone = self.erased | self.doubtful
        past = sorted(
            {e.gamer for e in events if window_of(e.gamer) < newest - 1 and e.id not in gone}
        )
        if not past:
            return None
        who = chance.choice(past)
        return _erasure_of(who)

    def _asked_to_erase(self, arguments: tuple[str, ...]) -> set[str]:
        who = _who(arguments)
        return {event.id for event in self.acked() if event.gamer == who}


def _erasure_of(who: str) -> tuple[str, ...]:
    """Who counts proves it: a scan would find what killed JVMs left among temporary files."""
    return (
        _ERASURE,
        "--column",
        "gamer_id",
        "--value",
        who,
        "--later",
        "keep",
        "--no-proof",
        "--yes",
    )


def _who(arguments: tuple[str, ...]) -> str:
    return arguments[arguments.index("--value") + 1]


def maintain() -> tuple[str, ...]:
    """Small files are joined, unused ones deleted (vacuum), logs shortened."""
    return ("maintain",)


def rebuild_silver() -> tuple[str, ...]:
    """All of silver is derived from bronze again."""
    return ("rebuild", "silver", "--yes", "--feed", FEED)


def rebuild_gold() -> tuple[str, ...]:
    """All of gold is computed from silver again."""
    return ("rebuild", "gold", "--yes", "--feed", FEED)


def refresh() -> tuple[str, ...]:
    """Gold is brought up to date."""
    return ("refresh", "--feed", FEED)


def _knows(stack: Stack, command: str) -> bool:
    return stack.command(command, "--help", within_s=120).returncode == 0


def _last_words(done: "subprocess.CompletedProcess[str]") -> str:
    said = done.stdout
    if done.returncode and NOT_YET not in said:
        said = done.stderr
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or line.startswith(NOT_YET)]
    return (errors or lines or [""])[-1][:300]
