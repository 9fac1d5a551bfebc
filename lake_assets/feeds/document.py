"""A YAML file with its lines and columns, so that an error can point at what it means."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from lake_assets.errors import FeedError, first_line
from lake_assets.feeds.problems import Place, problem_at, together
from lake_assets.feeds.yaml_bounds import ensure_bounded, nested_too_deep
from lake_assets.feeds.yaml_words import explain_character, explain_yaml

Loc = Sequence[int | str]
"""Way into the document, as pydantic gives it: keys of mappings and indexes of lists."""


class Document:
    """One parsed file: its data, and where in it each part is."""

    def __init__(self, path: Path) -> None:
        """Read and parse the file.

        Raises:
            FeedError: it cannot be read, is not YAML, or has keys twice or that are no names.
        """
        self.path = path
        self._text, self._root = _read(path), None
        try:
            self._root = yaml.compose(self._text, yaml.SafeLoader)
            ensure_bounded(self._root, str(path))
            wrong = [*self._wrong_keys(self._root, set())]
            self.data: Any = None if wrong else _data_of(self._text, self._root)
        except yaml.MarkedYAMLError as problem:
            raise problem_at(str(path), *explain_yaml(self._text, problem)) from problem
        except yaml.reader.ReaderError as problem:
            raise problem_at(str(path), *explain_character(self._text, problem)) from problem
        except (yaml.YAMLError, ValueError) as problem:  # a number may have too many digits
            is_long = "integer string conversion" in str(problem)  # Python tells of its own switch
            why = "a number has too many digits" if is_long else first_line(problem)
            fact = f"is not YAML: {why}"
            step = "Write what is no number, or no time, in quotes"
            place = next(_unreadable(self._root, set()), None)
            raise problem_at(str(path), place, fact, step) from problem
        except RecursionError:
            raise nested_too_deep(str(path)) from None
        if wrong:
            raise together(wrong)

    def line_of(self, loc: Loc) -> int:
        """Line of a part, counted from 1; of the nearest part around it where it is missing."""
        return self.place_of(loc).line

    def place_of(self, loc: Loc) -> Place:
        """Where a part begins, with its name; the nearest part around it where it is missing."""
        node, place = self._root, Place(1, 1)
        for part in loc:
            child = _child(node, part)
            if child is None:
                break
            place, node = child
        return place

    def text_at(self, loc: Loc) -> str | None:
        """What stands in the file for a part that is a single value; None of others."""
        node = self._node(loc)
        return node.value if isinstance(node, yaml.ScalarNode) else None

    def has(self, loc: Loc) -> bool:
        """Whether there is such a part."""
        return self._node(loc) is not None

    def place_within(self, loc: Loc, start: int, end: int) -> Place:
        """Where a part of a text is: of the characters `start` to `end` of its value.

        Line breaks, indents and quotes of the file are none of the value's, so what is there is
        looked for: as often as it stands in the value before.
        """
        node = self._node(loc)
        if not isinstance(node, yaml.ScalarNode) or start >= end:
            return self.place_of(loc)
        piece, begin = node.value[start:end], node.start_mark.index
        source, at = self._text[begin : node.end_mark.index], -1
        for _ in range(node.value[:start].count(piece) + 1):
            at = source.find(piece, at + 1)
            if at < 0:
                return Place(node.start_mark.line + 1, node.start_mark.column + 1)
        before = self._text[: begin + at]
        return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))

    def _node(self, loc: Loc) -> yaml.Node | None:
        node: yaml.Node | None = self._root
        for part in loc:
            child = _child(node, part)
            if child is None:
                return None
            node = child[1]
        return node

    def _wrong_keys(
        self, node: yaml.Node | None, seen: set[int], *, numbers: bool = False
    ) -> Iterator[FeedError]:
        """Where names may be `numbers`, they are partitions."""
        if node is None or id(node) in seen:  # an anchor may hold itself
            return
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                own = numbers
                if isinstance(key, yaml.ScalarNode):
                    yield from self._wrong_key(key, lines, numbers=numbers)
                    own = numbers or key.value == "starting_offsets"
                yield from self._wrong_keys(value, seen, numbers=own)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                yield from self._wrong_keys(item, seen)

    def _wrong_key(
        self, key: yaml.ScalarNode, lines: dict[str, int], *, numbers: bool
    ) -> Iterator[FeedError]:
        """A name that is another one's again, or that YAML takes for something else."""
        place, name, kind = _place(key), key.value, key.tag.rpartition(":")[2]
        if name in lines:
            fact = f"{name!r} was given on line {lines[name]} already"
            yield problem_at(str(self.path), place, fact, "Remove one of them")
        elif not name and kind == "null":
            step = "Write a name before the colon"
            yield problem_at(str(self.path), place, "a name is missing", step)
        elif kind not in {"str", "merge"} and not (numbers and kind == "int"):
            meant = _TAKEN_FOR.get(kind, "something else")
            fact = f"the name `{name}` is {meant} in YAML, and no text"
            yield problem_at(str(self.path), place, fact, f"Write it in quotes: '{name}'")
        lines[name] = place.line


_TAKEN_FOR = {
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "null": "nothing",
    "timestamp": "a date",
}
"""By YAML's tag of a value without quotes."""

_MOST_BYTES = 1024 * 1024
"""Of a file; a feed with ten thousand keys has a fifth. PyYAML takes 20 s for as much."""


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as problem:
        fact = f"cannot be read ({problem.strerror or problem})"
        raise problem_at(str(path), None, fact, "Make it readable") from problem
    if len(content) > _MOST_BYTES:
        raise problem_at(str(path), None, "has more than 1 MiB", "Write several files")
    try:
        if _is_utf_16(content):
            fact = "is not text in UTF-8: it looks like UTF-16"
            raise problem_at(str(path), Place(1, 1), fact, _SAVE)
        return content.decode()
    except UnicodeDecodeError as problem:
        before = content[: problem.start]
        place = Place(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        fact = f"is not text in UTF-8: it has the byte 0x{content[problem.start]:02x} here"
        raise problem_at(str(path), place, fact, _SAVE) from problem


_SAVE = "Save it as UTF-8 in your editor"

_LOOKED_AT = 64
"""Bytes that tell whether a file is UTF-16: of a feed's, every second one is 0."""


def _is_utf_16(content: bytes) -> bool:
    head = content[:_LOOKED_AT]
    has_mark = head[:2] in {b"\xff\xfe", b"\xfe\xff"}
    return has_mark or any(half and not any(half) for half in (head[::2], head[1::2]))


def _unreadable(node: yaml.Node | None, seen: set[int]) -> Iterator[Place]:
    """Where values are that look like dates or numbers, and are none."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        try:
            yaml.safe_load(node.value)
        except (yaml.YAMLError, ValueError):
            if node.style is None:
                yield _place(node)
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        for one in child if isinstance(child, tuple) else (child,):
            yield from _unreadable(one, seen)


def _data_of(text: str, root: yaml.Node | None) -> Any:  # noqa: ANN401 - as YAML has it
    """What a document says; of its tree, since parsing takes most of the time that a file takes."""
    # What `<<` merges would be written into the tree, which places are looked up in.
    if root is None or "<<" in text:
        return yaml.safe_load(text)
    return yaml.constructor.SafeConstructor().construct_document(root)


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _child(node: yaml.Node | None, part: int | str) -> tuple[Place, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return _place(key), value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        item = node.value[part]
        return _place(item), item
    return None
