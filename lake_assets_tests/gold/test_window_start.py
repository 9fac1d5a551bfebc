"""Whatever happens to silver, refreshes add the windows, and count the late rows, of a model."""

import random
from dataclasses import dataclass, field

import pytest
from deltalake import DeltaTable

from lake_assets.gold.window_refresh import refresh_windows
from lake_assets_tests.gold.test_window_refresh import VIEW, add
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.sample import GAMES

pytestmark = pytest.mark.spark

KEYS = ("uno", "go_fish")

EVERY, DELAY, AHEAD = 10_000_000, 4_000_000, 86_400_000_000

STEPS = 12


@dataclass
class Model:
    """A key, as it should be: its rows with gamer, time and arrival in microseconds."""

    known: list = field(default_factory=list)
    new: list = field(default_factory=list)
    until: int | None = None
    windows: dict = field(default_factory=dict)
    late: int = 0

    def lose(self, gamer):
        """Rows are deleted: all is computed again, if any was there."""
        rows = [row for row in self.known + self.new if row[0] != gamer]
        if len(rows) < len(self.known) + len(self.new):
            self.known, self.new, self.until = [], rows, None
            self.windows, self.late = {}, 0

    def refresh(self):
        times = [at for _, at, _ in self.new if at is not None]
        since = self.until
        self.late += sum(since is not None and at < since for at in times)
        believed = [came if at > came + AHEAD else at for _, at, came in self.new if at is not None]
        if believed:
            until = (max(believed) - DELAY) // EVERY * EVERY
            self.until = until if since is None else max(since, until)
        self.known, self.new = self.known + self.new, []
        for gamer, at, _ in self.known:
            if at is not None and self.until > at and (since is None or at >= since):
                window = (at // EVERY * 10, gamer)
                self.windows[window] = self.windows.get(window, 0) + 1


def grow(lake, key, model, chance, now):
    """A commit of a few rows, some late, on a border, before 1970, or of a wrong clock."""
    came = round(now * 1_000_000)
    rows = []
    for _ in range(chance.randint(1, 4)):
        at = now - chance.random() * 4
        wrong = (at - 12, at // 10 * 10, None, -3.5, 330 * 365 * 86_400, now + 2 * 86_400)
        rows.append((chance.choice("abc"), chance.choice([at] * 6 + list(wrong))))
    add(lake, *rows, key=key, came=now)
    model.new += [(who, None if at is None else round(at * 1_000_000), came) for who, at in rows]


def has(lake, key):
    table = DeltaTable(lake / GAMES.gold_table(VIEW, key).relative).to_pyarrow_table()
    return {
        (int(row["window_start"].timestamp()), row["gamer_id"]): row["n"]
        for row in table.to_pylist()
    }


@pytest.mark.parametrize("seed", with_long(range(4), long=range(1, 4)))
def test_windows_and_late_rows_are_those_of_a_plain_model(spark, context, lake, seed):
    chance = random.Random(seed)  # noqa: S311 - the same rows each time
    feed = GAMES.model_copy(update={"gold": (VIEW,)})
    models = {key: Model() for key in KEYS}
    now = 1_000.0
    for _ in range(STEPS):
        for key, model in models.items():
            for _ in range(chance.randint(0, 3)):
                now += chance.random() * 8
                grow(lake, key, model, chance, now)
        key = chance.choice(KEYS)
        silver = lake / GAMES.silver_table(key).relative
        if silver.exists():
            match chance.choice(["nothing", "compact", "compact", "delete"]):
                case "compact":
                    DeltaTable(silver).optimize.compact()
                case "delete":
                    DeltaTable(silver).delete("gamer_id = 'c'")
                    models[key].lose("c")
        report = refresh_windows(spark, feed, VIEW, KEYS, context)
        for done in report.refreshed:
            models[done.key].refresh()
            assert done.late_rows_in_all == models[done.key].late
            assert has(lake, done.key) == models[done.key].windows
