"""What the supervisor looks at and what it may do, as frozen nouns."""

from dataclasses import dataclass, field
from enum import StrEnum

from lake_assets.model.heartbeat import Heartbeat

CLI = "cli"
"""Owner in the heartbeat of `lake-assets stream`."""


class Phase(StrEnum):
    """How far an unfinished run has come."""

    WAITING = "waiting"  # recorded or queued; nothing was launched for it
    LAUNCHING = "launching"  # a process is being started for it
    RUNNING = "running"  # its process has said that it began
    CANCELING = "canceling"  # a user or a timeout asked it to end


class Ending(StrEnum):
    """How a finished run ended."""

    DIED = "died"  # an error, a kill, or a record that was declared dead
    STOPPED = "stopped"  # cancelled by a user, or ended by itself


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFact:
    """An unfinished run of the streams, as Dagster's record has it."""

    run_id: str
    phase: Phase

    boot: str = ""
    """The machine, boot and container that its process has said it is in; "" if it has not."""

    is_elsewhere: bool = False
    """Whether its process is, or will be, where this one cannot see it, and a launcher that looks
    after its processes itself has started it: in a container or a pod of its own."""

    is_outdated: bool = False
    """Whether its code is older than that of whoever asks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedRun:
    """The newest finished run of the streams."""

    run_id: str
    ending: Ending
    lived_s: float
    ended_ago_s: float
    """Both by the wall clock of Dagster's records, and never below 0. Whoever sets that clock makes
    a pause before a restart shorter, or as long as it is after a death just now."""

    ended_at: float
    """Seconds since 1970, for what is shown."""

    is_by_others: bool = False
    """Whether a signal ended it that was not the supervisor's."""

    is_ahead: bool = False
    """Whether it ended later than it is now: the clock was set back, and `ended_ago_s` stays 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Writer:
    """Who has the lease of a lake in a bucket, where that is not this state folder."""

    place: str
    """In words."""

    mark: str
    """Another one after each renewal."""

    lasts_s: float
    """Seconds after which one that renews nothing counts as dead."""

    boot: str = ""
    """The machine, boot and container that it is in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """Everything a decision is made from."""

    now: float
    """By the monotonic clock, as a heartbeat's times."""

    is_locked: bool
    """Whether a living process holds the lake's lock."""

    beat: Heartbeat | None = None
    """The last heartbeat of a process of this machine since it was booted, whoever's."""

    is_beater_alive: bool = False
    """Whether the process that wrote `beat` lives."""

    far_beat: Heartbeat | None = None
    """The last heartbeat, if it is of a process of another machine, container or boot: its pid and
    its clock mean nothing here, and it lives while its heartbeats change."""

    is_beater_ours: bool = False
    """Whether this Dagster instance has a run with the id that `beat`, or `far_beat`, names,
    finished or not."""

    is_run_of_feed: bool = False
    """Whether that run is one of a feed with a schedule, and not of the streams."""

    loaded_ago_s: float = 0.0
    """Since whoever asks has loaded its code."""

    is_outdated: bool = False
    """Whether its code is older than that of whoever asks."""

    is_wanted: bool = True
    """Whether any feed is to be run without pause."""

    stops: str = ""
    """Who stopped which feeds' streams deliberately, in words, if those are all that are wanted."""

    writer: Writer | None = None
    """Who writes the lake from elsewhere, dead or alive."""

    runs: tuple[RunFact, ...] = ()
    """Unfinished runs of the streams."""

    last_ended: EndedRun | None = None


class Kind(StrEnum):
    """What the supervisor may do."""

    NOTHING = "nothing"
    START = "start"  # request a run
    FAIL_RUN = "fail_run"  # mark a record failed whose process is gone
    CANCEL_RUN = "cancel_run"  # take back a run that was not launched yet
    ASK_TO_END = "ask_to_end"  # SIGTERM to the process that writes the heartbeat
    KILL = "kill"  # SIGKILL to it
    END_BY_RECORD = "end_by_record"  # say that the run is to end: its process, elsewhere, sees that


class Why(StrEnum):
    """Reasons, in the words a user reads on the sensor's page."""

    ABSENT = "no run of the streams exists"
    SERVER_ENDS = "a signal ended the streams; perhaps it ends their code server, too"  # a deploy
    UNWANTED = "every feed runs on a schedule of its own"
    STOPPED = "every feed's stream is stopped deliberately; the job `start_stream` starts it"
    BACKING_OFF = "the streams died; waiting before they are started again"
    HEALTHY = "the streams are running"
    WAITING = "the streams are running and wait for something"  # a broker: they go on by themselves
    VIEW_STUCK = "the streams are running, and a view's refresh takes long"  # a restart cures none
    COMING_UP = "a run of the streams begins or ends"  # queued, launching, not at its lock, past it
    QUEUED = (
        "a run of the streams has waited in Dagster's queue for long: other runs fill it, or "
        "Dagster's daemon stands still, as it does while a clock that was set back is behind; "
        "restart the daemon then"
    )
    ENDING = "the streams are ending"  # cancelled or asked to end, and given time
    NOT_OURS = "another process runs the streams of this lake"  # `lake-assets stream`, another dev
    ELSEWHERE = "the lake is written from elsewhere"  # by another machine, which has its lease
    RUNS_ELSEWHERE = "the streams run on another machine or in another container"
    BEGINS_ELSEWHERE = "a run of the streams begins or ends on another machine"  # it has no lease
    LEASE_OVER = "its machine does not renew the lake's lease any more"  # dead, or cut off
    HELD_ELSEWHERE = (
        "a process on another machine holds the lake's lock though its run has ended: it ends by "
        "itself, or has to be ended there"
    )
    RUN_OF_FEED = "a run of a feed has the lock, and ends by itself"  # begun without streams
    UNKNOWN_HOLDER = "somebody holds the lock and has not said who"  # taken a moment ago
    PROCESS_GONE = "its process is gone"  # the lock is free, so nothing runs
    NEVER_LAUNCHED = "it was never launched"  # dev died between the record and the process
    SURPLUS = "another run does the work"
    SILENT = "no heartbeat"  # hung in the main thread, or SIGSTOP
    STALLED = "no progress"  # heartbeats go on, batches do not
    OUTDATED = "the code has changed since the streams were started"  # a deploy: once
    STUBBORN = "it did not end when asked"


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """What to do now, why, and to whom."""

    kind: Kind
    why: Why
    run_id: str | None = None
    """The run that FAIL_RUN and CANCEL_RUN are about."""

    detail: str = field(default="", compare=False)
    """Numbers and names for the user."""

    def __str__(self) -> str:
        """One line for a log or a sensor's page."""
        return f"{self.why}: {self.detail}" if self.detail else str(self.why)


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """How patient the supervisor is; all in seconds."""

    stall_after_s: float
    """Without progress for this long, the streams are restarted."""

    silent_after_s: float = 60.0
    """Without heartbeat for this long, likewise. A report of 100 keys to Dagster takes up to 10 s
    between two heartbeats; above minutes a hung process is kept needlessly."""

    lock_within_s: float = 20.0
    """A started run takes the lock within a second or two of its start; a busy machine needs more.
    Lower fails healthy runs, higher delays the restart after a kill."""

    launch_within_s: float = 90.0
    """From the record to the start of the run's process: imports, which took 25 s at a load of 10
    on two cores. Lower fails runs that are on their way, higher delays what a dead one holds up."""

    queued_within_s: float = 60.0
    """From the record to the launch, of a run that nothing holds up: the daemon looks each second.
    Longer delays the word that it does not."""

    end_within_s: float = 20.0
    """Between SIGTERM and SIGKILL. The batch in hand is finished in it, if it can be; a kill costs
    only the work of that batch."""

    finish_within_s: float = 110.0
    """Likewise of streams whose code is older: a batch of millions of rows may take a minute, and
    containers are given two."""

    server_ends_within_s: float = 10.0
    """From the end of streams that a signal ended to that of their code server, which still looks,
    and could start streams that end with it. One that was loaded later does not wait."""

    first_delay_s: float = 2.0
    """Before the first restart; doubled for each death in a row."""

    longest_delay_s: float = 120.0
    """A cause that was repaired is noticed within this time."""

    healthy_after_s: float = 300.0
    """A run that lived this long begins a new count of deaths."""
