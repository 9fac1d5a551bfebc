"""What erasing persons costs beside deriving silver again: one value, a hundred, the proof.

Seconds are of a process that has Spark already; nothing is computed anew, since there is no gold.
Those who came late, after all other events, have rows in the newest file of some tables; those who
were there from the start have some in most files.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from benchmarks.ground import Ground, check, timed
from benchmarks.ours import pipeline_of, schemas_of, walk
from benchmarks.section import Figure, Section
from benchmarks.topic import topic_of
from benchmarks.venue import Venue
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.asked import Request
from lake_assets.erasure.proved import prove_erased
from lake_assets.erasure.run import Erased, erase
from lake_assets.erasure.wanted import Wanted
from lake_assets.gold.run import Warm
from lake_assets.model.tables import TableRef, bronze_of
from lake_assets.silver.noted_change import silver_tables
from lake_assets.silver.reprocess import Redo
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.produce import produce
from lake_assets.simulator.script import Script
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.streams.noted_changes import reprocess_journal
from lake_assets.streams.pipeline import demux_of
from lake_assets.streams.reprocess import rebuild

ERASURE = "erasure"

_COLUMN = "gamer_id"

_MANY = 100
"""Values of one request."""

_LATE_EVENTS = 500
"""Events after all others, of other persons: enough of them for both requests."""


def measure_erasure(venue: Venue) -> Section:
    """Erase who came late, one and then many in one pass, and others so; derive silver again.

    Raises:
        StreamError: a table has other rows than it is to have.
    """
    options, tables = venue.options, venue.options.some_tables
    venue.announce(f"erasure: {options.events:,} rows of silver in {tables} tables …")
    with topic_of(venue.endpoints, tables=tables, events=options.events, stop=venue.stop) as topic:
        ground = venue.ground(topic)
        walk(ground)
        with open_lake(ground.settings, ground.session) as context:
            before = _Stand(ground, context).persons()
        walk(replace(ground, by_game=_late_events(ground)))
        with open_lake(ground.settings, ground.session) as context:
            return _measure(venue, _Stand(ground, context), before)


def _late_events(ground: Ground) -> dict[str, int]:
    """Bring some events of another world; how many of each game."""
    source, subject = ground.feed.source, ground.feed.payload.subject
    events = GameEvents(ground.endpoints, subject, ground.feed.keys, seed=1)
    script = Script(events=_LATE_EVENTS)
    made = produce(ground.endpoints, source.topics.names[0], events, script, stop=ground.stop)
    return made.by_key


@dataclass(frozen=True, slots=True)
class _Stand:
    ground: Ground
    context: LakeContext

    def erase(self, values: Sequence[str]) -> tuple[float, float, Erased]:
        """Seconds without and of the proof, and what was done."""
        settings, feed = self.ground.settings, self.ground.feed
        warm = Warm(session=self.ground.session, context=self.context)
        request = Request(wanted=[Wanted(column=_COLUMN, values=tuple(values))])
        found: list[Erased] = []

        def act() -> None:
            done = erase(settings, [feed], lambda: self.ground.endpoints, request, warm=warm)
            found.append(done)

        def prove() -> None:
            prove_erased(settings, [feed], found[0], found[0].wanted)

        seconds = timed(act, self.ground.stop)
        return seconds, timed(prove, self.ground.stop), found[0]

    def rebuild(self) -> float:
        """Seconds of deriving all of silver again."""
        pipeline = pipeline_of(self.ground, self.context, lambda _: None)
        demux = demux_of(pipeline, self.ground.feed, schemas_of(self.ground))
        journal = reprocess_journal(self.context.lake, self.ground.feed)
        redo = Redo(session=self.ground.session, demux=demux, journal=journal)
        return timed(lambda: rebuild(redo, self.ground.settings.state_dir), self.ground.stop)

    @property
    def silver(self) -> list[TableRef]:
        return silver_tables(self.context.lake, self.ground.feed)

    @property
    def bronze(self) -> TableRef:
        return bronze_of(self.ground.feed.feed)

    def rows(self, table: TableRef) -> int:
        handle = open_table(self.context.lake, table)
        return 0 if handle is None else rows_of(handle)

    def files(self) -> int:
        """Of bronze and silver."""
        return sum(
            len(active_files(self.context.committer.fresh(table)))
            for table in (self.bronze, *self.silver)
        )

    def persons(self) -> Counter[str]:
        """How many rows of silver each has."""
        counts: Counter[str] = Counter()
        for table in self.silver:
            log = log_of(self.context.lake, table)
            for file in active_files(self.context.committer.fresh(table)):
                found = pc.value_counts(read_file(log, file, [_COLUMN])[_COLUMN])
                counts.update({one["values"]: one["counts"] for one in found.to_pylist()})
        return counts


def _measure(venue: Venue, stand: _Stand, before: Collection[str]) -> Section:
    """`before`: who was there before the late events."""
    counts, had, files = stand.persons(), stand.rows(stand.bronze), stand.files()
    rarest = [person for person, _ in reversed(counts.most_common())]
    late = [person for person in rarest if person not in before]
    early = [person for person in rarest if person in before]
    ways = {
        f"{len(chosen):,} {way}": chosen
        for way, persons in (("late", late), ("early", early))
        for chosen in (persons[:1], persons[1 : _MANY + 1])
    }
    measured: list[tuple[str, float, float, Erased]] = []
    for way, chosen in ways.items():
        seconds, proof_s, done = stand.erase(chosen)
        had -= sum(counts[person] for person in chosen)
        check(f"{ERASURE}, {way}", rows=stand.rows(stand.bronze), expected=had)
        measured.append((way, seconds, proof_s, done))
        venue.announce(f"{ERASURE}, {way}: {seconds:.2f} s, proof {proof_s:.2f} s")
    rebuild_s = stand.rebuild()
    silver = sum(map(stand.rows, stand.silver))
    check(f"{ERASURE}, rebuild", rows=silver, expected=had)
    rows: list[dict[str, Figure]] = [
        {
            "erasure": way,
            "rows": sum(done.taken.rows.values()),
            "files_read": done.taken.files_read,
            "files_deleted": done.ended.files,
            "seconds": round(seconds, 3),
            "of_rebuild": round(seconds / rebuild_s, 3),
            "proof_s": round(proof_s, 3),
        }
        for way, seconds, proof_s, done in measured
    ]
    return Section(
        name=ERASURE,
        keys=("erasure",),
        rows=rows,
        note=f"{had:,} rows left in {len(stand.silver)} tables and bronze, {files:,} files; "
        f"rebuild of silver {rebuild_s:.1f} s; no gold",
    )
