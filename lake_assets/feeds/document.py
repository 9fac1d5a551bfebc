"""A YAML file with its line numbers, so that an error can point at what it means."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from lake_assets.errors import FeedError, first_line
from lake_assets.feeds.yaml_bounds import ensure_bounded, nested_too_deep

Loc = Sequence[int | str]
"""Way into the document, as pydantic gives it: keys of mappings and indexes of lists."""


class Document:
    """One parsed file: its data, and on which line each part of it is."""

    def __init__(self, path: Path) -> None:
        """Read and parse the file.

        Raises:
            FeedError: it cannot be read, is not YAML, or has a key twice.
        """
        self.path = path
        text = _read(path)
        try:
            self._root = yaml.compose(text, yaml.SafeLoader)
            ensure_bounded(self._root, str(path))
            self._refuse_twins(self._root, set())
            self.data: Any = yaml.safe_load(text)
        except yaml.MarkedYAMLError as problem:
            mark = problem.problem_mark
            where = f"{path}, line {mark.line + 1}" if mark else str(path)
            raise FeedError(where, f"is not YAML ({problem.problem})", _NEXT_STEP) from problem
        except (yaml.YAMLError, ValueError) as problem:  # a number may have too many digits
            fact = f"is not YAML ({first_line(problem)})"
            raise FeedError(str(path), fact, _NEXT_STEP) from problem
        except RecursionError:
            raise nested_too_deep(str(path)) from None

    def line_of(self, loc: Loc) -> int:
        """Line of a part, counted from 1; of the nearest part around it where it is missing."""
        node, line = self._root, 1
        for part in loc:
            child = _child(node, part)
            if child is None:
                break
            line, node = child
        return line

    def _refuse_twins(self, node: yaml.Node | None, seen: set[int]) -> None:
        if node is None or id(node) in seen:  # an anchor may hold itself
            return
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    line = key.start_mark.line + 1
                    if key.value in lines:
                        where = f"{self.path}, line {line}"
                        fact = f"{key.value!r} was given on line {lines[key.value]} already"
                        raise FeedError(where, fact, "Remove one of them")
                    lines[key.value] = line
                self._refuse_twins(value, seen)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                self._refuse_twins(item, seen)


_NEXT_STEP = "Correct the file"

_MOST_BYTES = 1024 * 1024
"""Of a file; a feed with ten thousand keys has a fifth. PyYAML takes 20 s for as much."""


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise FeedError(str(path), "has more than 1 MiB", "Write several files")
        return content.decode()
    except OSError as problem:
        fact = f"cannot be read ({problem.strerror or problem})"
        raise FeedError(str(path), fact, "Make it readable") from problem
    except UnicodeDecodeError as problem:
        raise FeedError(str(path), "is not text in UTF-8", _NEXT_STEP) from problem


def _child(node: yaml.Node | None, part: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        item = node.value[part]
        return item.start_mark.line + 1, item
    return None
