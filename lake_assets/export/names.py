"""What files of an export are called. Pure.

A name says which offsets are in the file, and begins with a number that only grows: sorted by their
names, files are in the order in which they were written, whatever their partitions are.
"""

import re
from dataclasses import dataclass
from typing import Self

from lake_assets.errors import ExportError
from lake_assets.model.topic_pattern import topic_name
from lake_assets.model.validator_messages import fact_and_step

_DIGITS = 9
"""Of the number: with fewer, names would be in another order after a million files."""

LONGEST_TOPIC = 170
"""Characters of a topic's name: a file's name may have 255, and the rest of ours has up to 80."""

_PREFIX = "topic="
"""Before topics whose names begin with `.` or `_`: feeds read no files of such names. No topic has
a `=` in its name, so that it is told apart from all others."""


def stem_of(topic: str) -> str:
    """What the names of a topic's files begin with.

    Raises:
        ExportError: no topic, or no file, can have that name.
    """
    try:
        topic_name(topic)
    except ValueError as problem:
        raise ExportError("--topic", *fact_and_step(str(problem))) from problem
    if len(topic) > LONGEST_TOPIC:
        fact = f"has {len(topic)} characters, and a file's name has room for {LONGEST_TOPIC}"
        raise ExportError(f"topic {topic!r}", fact, "Stream it, or copy it to another topic")
    return _PREFIX + topic if topic[0] in "._" else topic


@dataclass(frozen=True, kw_only=True, slots=True)
class FileName:
    """A file of an export, by its name."""

    stem: str
    number: int
    partition: int
    first: int
    """The first offset that it stands for."""

    after: int
    """The offset after the last one; some of those between may have no record."""

    ending: str

    def __str__(self) -> str:
        """The name."""
        return f"{self._begin}-{self.after}.{self.ending}"

    @property
    def part(self) -> str:
        """What it is called while it is written, when nobody knows its last offset."""
        return part_of(self.stem, self.number, self.partition, self.first)

    @property
    def _begin(self) -> str:
        return _begin(self.stem, self.number, self.partition, self.first)

    @classmethod
    def parse(cls, stem: str, name: str) -> Self | None:
        """A name that this module made for the topic; None for any other."""
        found = _pattern(stem).fullmatch(name)
        if found is None:
            return None
        number, partition, first, after = (int(found[place]) for place in range(1, 5))
        parsed = cls(
            stem=stem,
            number=number,
            partition=partition,
            first=first,
            after=after,
            ending=found[5],
        )
        return parsed if str(parsed) == name else None


def part_of(stem: str, number: int, partition: int, first: int) -> str:
    """What a file is called while it is written; hidden, so that no feed reads it."""
    return f".{_begin(stem, number, partition, first)}.part"


def is_part(stem: str, name: str) -> bool:
    """Whether a file is one that was being written for the topic."""
    pattern = rf"\.{re.escape(stem)}-\d{{{_DIGITS},}}-p\d+-\d+\.part"
    return re.fullmatch(pattern, name, re.ASCII) is not None


def _begin(stem: str, number: int, partition: int, first: int) -> str:
    return f"{stem}-{number:0{_DIGITS}d}-p{partition}-{first}"


def _pattern(stem: str) -> re.Pattern[str]:
    digits = rf"(\d{{{_DIGITS},}})"
    return re.compile(rf"{re.escape(stem)}-{digits}-p(\d+)-(\d+)-(\d+)\.([a-z]+)", re.ASCII)
