"""The rule of `deduplicate` once more, plainly: what the product is held to."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Sent:
    """A row that a producer sent."""

    key: str
    time: int
    """Microseconds since 1970."""

    partition: int
    offset: int
    table: int = 0
    had: bool = False
    """Whether silver had it before it was derived again."""

    def is_near(self, other: "Sent", window: int) -> bool:
        same = (self.key, self.table) == (other.key, other.table)
        return same and abs(self.time - other.time) <= window


def kept_of(new: list[Sent], stored: list[Sent], window: int) -> list[Sent]:
    """The new rows that stay beside what is stored, asked one after the other."""
    kept: list[Sent] = []
    for row in sorted(new, key=lambda one: _turn(one, new)):
        if not any(row.is_near(other, window) for other in [*stored, *kept]):
            kept.append(row)
    return [row for row in new if row in kept]


def _turn(row: Sent, new: list[Sent]) -> tuple[bool, int, int, int]:
    """When a row is asked: by the newest time of its partition's rows of the key up to it."""
    earlier = [
        one.time
        for one in new
        if (one.key, one.table, one.partition, one.had)
        == (row.key, row.table, row.partition, row.had)
        and one.offset <= row.offset
    ]
    return not row.had, max(earlier), row.partition, row.offset


def ensure_kept(kept: list[Sent], sent: list[Sent], window: int) -> None:
    """What is promised however rows are cut into batches: no two near ones, and nothing lost."""
    for at, row in enumerate(kept):
        assert not any(row.is_near(other, window) for other in kept[:at])
    for row in sent:
        had = replace(row, had=False)
        assert had in kept or any(row.is_near(other, window) for other in kept)
