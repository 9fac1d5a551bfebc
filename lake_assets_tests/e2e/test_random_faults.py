"""Random sequences of events, faults and repairs, held against a model of each event's place.

What the feeds declare depends on the sequence (`fault_shapes`). Bounded here; `--sequences 200
--steps 40` makes a long run (`docs/guarantees.md` has its figures), of which `[137]` is one;
`--lake s3proxy` or `--lake moto` has the lakes in a bucket.
"""

import sys
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import ClassVar

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, assume, settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pyspark.sql import SparkSession

from lake_assets.backup.create import back_up
from lake_assets.backup.progress import Progress
from lake_assets.delta.relayout import lay_out
from lake_assets.erasure.obeyed_restore import restore
from lake_assets.errors import LakeError, StreamError
from lake_assets.maintenance.run import maintain
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.retention import LayerRetention, Reset, SilverRetention
from lake_assets.model.routes import TableColumns
from lake_assets.model.tables import Layer
from lake_assets.settings.schema import Settings
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.silver import lay_out_tables
from lake_assets.streams.reset import reset_bronze
from lake_assets_tests import where_lakes_are
from lake_assets_tests.backup.lakes import place_at
from lake_assets_tests.clock import wall_clock
from lake_assets_tests.e2e.dying import POINTS, KilledError, doomed
from lake_assets_tests.e2e.fault_model import DELETED, LAYOUTS, Part
from lake_assets_tests.e2e.fault_shapes import SHAPES, Shape
from lake_assets_tests.e2e.keyed_model import check_keyed
from lake_assets_tests.e2e.sink_model import FAULTS, SinkModel
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import silver_of
from lake_assets_tests.sinks.rest.api import Api, running_api
from lake_assets_tests.streams.lakes import StreamedLake
from lake_assets_tests.where_lakes_are import Located, handle_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

FEEDS = {"games": ("uno", "go_fish", "chess"), "cards": ("rummy", "poker")}
"""Each feed's games; the last is added on the way."""

SENT = ("uno", "go_fish", "chess", "rummy", "poker", "")
"""Games of which events come to either feed; the last stands for one that cannot be decoded."""

MOST_VERSIONS = 5

KEEP = timedelta(hours=6)

AGED = {
    "retention": SilverRetention(keep=KEEP),
    "bronze": LayerRetention(retention=KEEP),
    "quarantine": LayerRetention(retention=KEEP),
}

CLOCK_STEPS = (timedelta(days=-1), timedelta(hours=1))


def days_ago(days):
    return datetime.now(UTC) - timedelta(days=days)


def is_there(_):
    return True


def has_bronze(part):
    return handle_of(part.lake.settings, part.bronze) is not None


def is_young(part):
    return len(part.versions) < MOST_VERSIONS


def is_streamed(part):
    return bool(part.model.placed)


def fits_together(part):
    return not part.model.is_torn


def is_whole(part):
    return is_streamed(part) and fits_together(part)


def has_all_columns(part):
    """Its tables have all of silver's columns, as those must that a keyed table is made of."""
    return not part.shape.own and not part.shape.selects


def a_part(fits, **given):
    """A rule for one of the feeds that fit."""

    def those(machine):
        return [name for name, part in machine.parts.items() if fits(part)]

    names = strategies.runner().flatmap(lambda machine: strategies.sampled_from(those(machine)))
    return lambda go: precondition(those)(rule(name=names, **given)(go))


def dying_at(point):
    """What lays a table out in a process that is killed before its commit, or right after."""

    def go(*given):
        if point == "after":
            lay_out(*given)
        raise KilledError

    return go


@contextmanager
def killed():
    """What a process does that may go down; Spark tells it in words of its own."""
    try:
        yield
    except Exception as problem:
        if KilledError.__name__ not in f"{problem!r} {problem}":
            raise


_HOMES = count()


class Machine(RuleBasedStateMachine):
    """What may happen to a lake; `bound_to` gives it what the run shares."""

    spark: ClassVar[SparkSession]
    services: ClassVar[Endpoints]
    homes: ClassVar[Path]
    api: ClassVar[Api]
    shapes: ClassVar[dict[str, Shape]]
    turn: ClassVar[int]
    done: ClassVar[Counter[str]]
    located: ClassVar[tuple[Located]]

    def __init__(self):
        super().__init__()
        home = self.homes / f"home{next(_HOMES)}"
        self.settings, self.backed_up = self.located[0](Settings(home=home)), {}
        self.place = place_at(home.with_name(f"{home.name}-backups"))
        self.parts, self.sinks, self.kept, self.open = {}, {}, {}, ExitStack()

    @initialize(names=strategies.sampled_from([None, (), *((name,) for name in FEEDS), [*FEEDS]]))
    def begin(self, names):
        # The simplest of all sequences is one step over and over, and always comes first.
        assume(names is not None)
        self.done["sequences"] += 1
        self.clock = self.open.enter_context(wall_clock())
        for name, keys in FEEDS.items():
            lake = StreamedLake(self.spark, self.settings, Topic(self.services))
            part = self.parts[name] = Part(name, keys, self.shapes[name], lake)
            self.sinks[name] = SinkModel(part, self.api, self.spark)
            self.produce(name, keys[0], 2, 0)
            (self.stream if name in names else self.ingest)(name)

    def teardown(self):
        """Whatever was last: a row of an earlier clock, a renamed field, and each repair.

        What costs a rebuild by itself is done for one feed or the other, in turn.
        """
        if sys.exc_info()[0] is not None:  # it failed already
            self.open.close()
            return
        with self.open:
            last = (self.rebuild, self.reset)
            for number, (name, repair) in enumerate(zip(self.parts, last, strict=True)):
                is_laid_out = (self.turn + number) % 2 == 0
                self.end(name, ("mark", "day")[number] if is_laid_out else None, repair)

    def end(self, name, layout, repair):
        part = self.parts[name]
        self.settle(name)
        if part.is_late:
            part.arrive()
        if layout:
            self.lay_out_by(name, layout)
        self.set_clock(CLOCK_STEPS[0])
        part.register(renames=True)
        self.produce(name, part.keys[0], 1, 1)
        self.stream(name)
        if not layout:
            self.delete_all_rows(part)
            self.rebuild_from(name, max(part.came().values()))
            part.check()
        if repair == self.rebuild and has_all_columns(part) and not part.has_aged:
            self.refresh_keyed(name)
        self.clock.ahead = timedelta()
        self.produce(name, part.keys[0], 1, 0, days=3)
        self.produce(name, part.keys[0], 1, 0)
        self.stream(name)
        self.let_old_rows_go(name, set(AGED))
        old = [place for place, event in part.events.items() if event.at < days_ago(2)]
        assert all(part.model.placed[place] == DELETED for place in old)
        self.delete_all_rows(part)
        repair(name)
        self.settle(name)
        part.check()
        if part.shape.delivers:
            self.deliver(name, "killed")

    @invariant()
    def each_event_is_in_its_place(self):
        self.done["steps"] += 1
        for part in self.parts.values():
            part.check()
            assert part.model.is_torn or part.is_laid_out()

    @rule(step=strategies.sampled_from(CLOCK_STEPS))
    def set_clock(self, step):
        self.clock.ahead += step

    @rule(
        name=strategies.sampled_from([*FEEDS]),
        key=strategies.sampled_from(SENT),
        many=strategies.integers(1, 5),
        age=strategies.integers(0, 1),
        days=strategies.integers(0, 3),
    )
    def produce(self, name, key, many, age, days=0):
        part = self.parts[name]
        part.produce(key, many, part.versions[-1 - min(age, len(part.versions) - 1)], days)

    @a_part(lambda part: part.sends_again and part.events, data=strategies.data())
    def send_again(self, name, data):
        part = self.parts[name]
        events = [part.events[place] for place in sorted(part.events)]
        part.send_again(data.draw(strategies.sampled_from(events)))
        self.done["sent again"] += 1

    @a_part(
        lambda part: is_young(part) and not part.is_late,
        change=strategies.sampled_from(("more", "renamed", "late")),
    )
    def register(self, name, change):
        self.parts[name].register(renames=change == "renamed", is_late=change == "late")

    @a_part(lambda part: part.is_late)
    def arrive(self, name):
        self.parts[name].arrive()
        self.done["late"] += 1

    @a_part(is_there)
    def stream(self, name):
        part = self.parts[name]
        if part.model.is_torn:
            before = part.contents()
            with pytest.raises(StreamError, match="do not fit together"):
                part.demux(part.lake)
            assert part.contents() == before
            self.rebuild(name)
        part.lake.ingest(part.feed)
        part.demux(part.lake)
        part.take()
        part.check()

    @a_part(fits_together)
    def stream_in_one_job(self, name):
        part = self.parts[name]
        part.stream_in_one_job(part.lake)
        part.take()

    @a_part(is_there)
    def ingest(self, name):
        part = self.parts[name]
        part.lake.ingest(part.feed)

    @a_part(fits_together, point=strategies.sampled_from(POINTS), forgets=strategies.booleans())
    def kill(self, name, point, forgets):
        part = self.parts[name]
        for key in part.keys[:2]:
            self.produce(name, key, 1, 0)
        dying = replace(part.lake, kind=doomed(point))
        with killed():
            dying.ingest(part.feed)
        part.lake.ingest(part.feed)
        with suppress(KilledError):
            part.demux(dying)
        part.model.is_cut_off = True
        if forgets:
            self.lose_state()

    @a_part(fits_together, point=strategies.sampled_from(POINTS), forgets=strategies.booleans())
    def kill_in_one_job(self, name, point, forgets):
        """After bronze has the rows, and before silver has all of them."""
        part = self.parts[name]
        for key in part.keys[:2]:
            self.produce(name, key, 1, 0)
        dying = replace(part.lake, kind=doomed(point, Layer.BRONZE))
        with killed():
            part.stream_in_one_job(dying)
        part.model.is_cut_off = True
        if forgets:
            self.lose_state()

    @precondition(lambda self: where_lakes_are.is_there(self.settings))
    @rule()
    def keep_lake(self):
        self.keep("lake", self.settings.lake_root)
        self.kept["models"] = self.models()

    @precondition(lambda self: "lake" in self.kept)
    @rule()
    def restore_lake(self):
        self.put_back("lake", self.settings.lake_root)
        self.become(self.kept["models"])

    def models(self):
        return {name: part.model.copy() for name, part in self.parts.items()}

    def become(self, models):
        for name, model in models.items():
            self.parts[name].model = model.copy()

    @precondition(lambda self: not any(part.model.is_cut_off for part in self.parts.values()))
    @rule()
    def back_up(self):
        """Its versions are those of now, where no batch was cut off.

        There is none of versions whose files maintenance deleted; it keeps some for no time.
        """
        try:
            back_up(self.settings, self.place, Progress(), take_over=True)
        except LakeError as problem:
            if "is missing, and a table's log names it" not in str(problem):
                raise
        else:
            self.backed_up = self.models()

    @precondition(lambda self: self.backed_up)
    @rule()
    def restore_backup(self):
        restore(self.settings, self.place, Progress(), number=None, force=True)
        self.become(self.backed_up)
        self.done["restored"] += 1

    @precondition(lambda self: self.settings.state_dir.exists())
    @rule()
    def keep_state(self):
        self.keep("state", LakeUri.local(self.settings.state_dir))

    @precondition(lambda self: "state" in self.kept)
    @rule()
    def restore_state(self):
        self.put_back("state", LakeUri.local(self.settings.state_dir))

    @precondition(lambda self: self.settings.state_dir.exists())
    @rule()
    def lose_state(self):
        where_lakes_are.lose_state(self.settings)
        if not self.settings.lake_root.is_local:
            # The lake gets another id then, and refuses what was of the former.
            self.kept.clear()

    @a_part(is_whole)
    def keep_and_restore_one_table(self, name):
        part = self.parts[name]
        self.settle(name)
        table = self.settings.lake_root / silver_of(part.keys[0]).relative
        self.keep("table", table)
        part.produce(part.keys[0], 1, part.versions[-1])
        self.stream(name)
        self.put_back("table", table)
        part.model.is_torn = True

    @a_part(is_streamed, of=strategies.integers(0, 2), data=strategies.data())
    def optimize(self, name, of, data):
        self.handle(name, of).optimize.compact()
        if data.draw(strategies.booleans(), label="vacuum"):
            self.vacuum(name, of)

    @a_part(is_streamed, of=strategies.integers(0, 2))
    def vacuum(self, name, of):
        self.handle(name, of).vacuum(
            retention_hours=0, enforce_retention_duration=False, dry_run=False
        )

    @a_part(has_bronze)
    def maintain(self, name):
        """All that may go goes at once."""
        upkeep = MaintenanceSettings(keep_hours=1e-9, join_at_files=2)
        maintained = self.settings.model_copy(update={"maintenance": upkeep})
        notes = [note for u in maintain(maintained, self.parts[name].feed) for note in u.notes]
        assert all(note.startswith("older versions are kept") for note in notes), notes

    @a_part(has_bronze, layers=strategies.sets(strategies.sampled_from([*AGED]), min_size=1))
    def let_old_rows_go(self, name, layers):
        part, before = self.parts[name], self.parts[name].contents()
        feed = part.feed.model_copy(update={layer: AGED[layer] for layer in layers})
        newest = max((part.events[place].at for place in part.came()), default=days_ago(0))
        maintain(self.settings, feed)
        after = part.contents()
        assert not after - before
        now = datetime.now(UTC) + self.clock.ahead
        part.age(before - after, min(now, newest) - KEEP)
        self.done["aged"] += (before - after).total()

    @a_part(is_whole, data=strategies.data())
    def delete_a_row(self, name, data):
        part = self.parts[name]
        silver = [place for place, key in part.model.placed.items() if key in part.keys]
        if not silver:
            return
        place = data.draw(strategies.sampled_from(sorted(silver)))
        table = part.model.placed[place]
        for copy in part.copies_of(place):
            self.delete(part, silver_of(table), "_", copy)
        part.delete(place, table)

    @a_part(has_bronze, data=strategies.data())
    def delete_a_row_of_bronze(self, name, data):
        part = self.parts[name]
        # One that was in a batch that was cut off may come to silver or not.
        here = [p for p in part.came() if p in part.model.placed or not part.model.is_cut_off]
        if not here:
            return
        place = data.draw(strategies.sampled_from(sorted(here)))
        self.delete(part, part.bronze, "", place)
        part.model.gone.add(place)
        part.model.placed.setdefault(place, DELETED)

    @a_part(is_whole)
    def add_game_and_requeue(self, name):
        part = self.parts[name]
        self.settle(name)
        part.model.keys = frozenset(part.keys)
        with self.others_stay(name), part.lake.redo(part.feed) as redo:
            redo.requeue()
        for place, table in part.model.placed.items():
            if table == part.quarantine.name:
                part.model.placed[place] = part.table_for(place)

    @a_part(is_streamed)
    def rebuild(self, name):
        part = self.parts[name]
        # Of tables that do not fit together, all that bronze has is taken again.
        taken = {**part.model.placed, **(part.came() if part.model.is_torn else {})}
        self.rebuild_of(name, taken)
        part.model.is_torn = False

    @a_part(
        is_streamed,
        layout=strategies.sampled_from(LAYOUTS),
        dies=strategies.sampled_from([None, "before", "after"]),
        forgets=strategies.booleans(),
    )
    def lay_out_anew(self, name, layout, dies, forgets):
        """Another layout, perhaps by a rebuild that is killed at its first table's commit."""
        part = self.parts[name]
        part.want(layout)
        if dies:
            with pytest.MonkeyPatch.context() as patched, suppress(KilledError):
                patched.setattr(lay_out_tables, "lay_out", dying_at(dies))
                self.rebuild(name)
            part.check()
            if not part.model.is_torn and not part.is_laid_out():
                with pytest.raises(LakeError, match="and the feed says"):
                    part.demux(part.lake)
            if forgets:
                self.lose_state()
        self.lay_out_by(name, layout)

    def lay_out_by(self, name, layout):
        self.parts[name].want(layout)
        self.rebuild(name)
        assert self.parts[name].is_laid_out()
        self.done["laid out"] += 1

    @a_part(is_whole, data=strategies.data())
    def rebuild_one_game(self, name, data):
        part = self.parts[name]
        key = data.draw(strategies.sampled_from(sorted(part.model.keys)))
        places = [place for place in part.model.placed if part.table_for(place) == key]
        self.rebuild_of(name, places, keys=[key])

    @a_part(is_whole, data=strategies.data())
    def rebuild_since(self, name, data):
        came = self.parts[name].came()
        if came:
            times = strategies.sampled_from(sorted(set(came.values())))
            self.rebuild_from(name, data.draw(times))

    @a_part(lambda part: is_whole(part) and has_all_columns(part) and not part.has_aged)
    def refresh_keyed(self, name):
        """A feed with a keyed table has no rows of silver that leave for their age."""
        part = self.parts[name]
        self.done["keyed"] += check_keyed(
            self.spark, self.settings, part.feed, sorted(part.model.keys)
        )

    @a_part(lambda part: is_whole(part) and part.shape.own)
    def share_columns_or_not(self, name):
        part = self.parts[name]
        is_own = part.model.columns is TableColumns.OWN
        part.model.columns = TableColumns.SHARED if is_own else TableColumns.OWN
        part.model.was_shared = True
        self.stream(name)

    @a_part(
        lambda part: part.shape.delivers and has_bronze(part), fault=strategies.sampled_from(FAULTS)
    )
    def deliver(self, name, fault):
        self.done["sent"] += self.sinks[name].deliver(fault)

    @a_part(is_streamed)
    def reset(self, name):
        part = self.parts[name]
        allowed = part.feed.model_copy(update={"reset": Reset.ALLOWED})
        with self.others_stay(name):
            reset_bronze(self.settings, allowed)
        assert part.contents() == Counter()
        part.model.placed, part.model.gone, part.model.retained = {}, set(), {}
        part.want("none")  # a former name of a column comes to no table that is made anew
        part.model.is_torn = part.model.is_cut_off = False

    def settle(self, name):
        part = self.parts[name]
        if part.waiting or part.model.is_cut_off:
            self.stream(name)

    def rebuild_from(self, name, since):
        """Of the first row on that came since then, whatever the clock said of later ones."""
        part = self.parts[name]
        late = sorted((place for place, at in part.came().items() if at >= since), reverse=True)
        first = dict(late)
        places = [(p, o) for p, o in part.model.placed if o >= first.get(p, o + 1)]
        self.rebuild_of(name, places, since=since)

    def rebuild_of(self, name, places, **chosen):
        part = self.parts[name]
        with self.others_stay(name), part.lake.redo(part.feed) as redo:
            part.lake.rebuild_with(redo, **chosen)
        part.renew()
        part.derive(list(places))

    @contextmanager
    def others_stay(self, name):
        others = [part for one, part in self.parts.items() if one != name]
        before = [part.contents() for part in others]
        yield
        assert [part.contents() for part in others] == before

    def delete(self, part, table, prefix, place):
        handle_of(self.settings, table).delete(part.predicate(prefix, place))

    def delete_all_rows(self, part):
        """Of one game, so that what a repair derives is seen."""
        key = part.keys[0]
        handle_of(self.settings, silver_of(key)).delete()
        for place, table in part.model.placed.items():
            if table == key:
                part.model.placed[place] = DELETED

    def handle(self, name, of):
        """Of bronze or of the table of one of the games that are there from the first."""
        part = self.parts[name]
        tables = [part.bronze, *map(silver_of, part.keys[:-1])]
        return handle_of(self.settings, tables[of % len(tables)])

    def keep(self, name, folder):
        copy = self.homes / f"copy{next(_HOMES)}"
        where_lakes_are.keep(self.settings, folder, copy)
        self.kept[name] = copy

    def put_back(self, name, folder):
        where_lakes_are.put_back(self.settings, self.kept[name], folder)


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """A real API, which sinks of all sequences call."""
    with running_api(tmp_path_factory.mktemp("api")) as found:
        yield found


def test_each_event_is_in_its_place_once_whatever_happens(
    spark, services, tmp_path, api, seed, request
):
    steps = request.config.getoption("--steps")
    shapes = {name: found[seed % len(found)] for name, found in SHAPES.items()}
    own = {"spark": spark, "services": services, "homes": tmp_path, "api": api, "shapes": shapes}
    own |= {"turn": seed, "located": (request.getfixturevalue("located"),)}
    done: Counter[str] = Counter()
    machine = type("BoundMachine", (Machine,), {**own, "done": done})
    run_state_machine_as_test(
        hypothesis.seed(seed)(machine),
        settings=settings(
            max_examples=1,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
        _min_steps=steps,
    )
    # There may be more: a sequence for which Hypothesis runs out of choices is none of them.
    assert done["sequences"]
    assert done["steps"] >= steps
    assert done["laid out"]
    assert done["sent"] or not any(shape.delivers for shape in shapes.values())
