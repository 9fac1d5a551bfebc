"""How large a YAML document may become: aliases let a few lines stand for any number of values.

Judges nodes before values are made of them; what the values mean is not looked at.
"""

import yaml

from lake_assets.errors import FeedError
from lake_assets.feeds.problems import Place, problem_at

MOST_VALUES = 200_000
"""That a document may have, each alias counted as what it stands for."""

DEEPEST = 100
"""Values that may be within each other; feeds have ten."""


def ensure_bounded(root: yaml.Node | None, where: str) -> None:
    """Refuse a document that would become too large, or is nested too deep.

    A value that holds itself is left to whoever reads it: it is one, and no text or number.

    Raises:
        FeedError: it would, or is.
    """
    sizes: dict[int, int] = {}
    if root is not None:
        _size(root, sizes, where, 1)


def nested_too_deep(where: str, place: Place | None = None) -> FeedError:
    """The error of a document whose values are too deep within each other."""
    step = f"At most {DEEPEST} values may be in each other"
    return problem_at(where, place, "is nested too deep", step)


def _size(node: yaml.Node, sizes: dict[int, int], where: str, depth: int) -> int:
    """Values of a node, its own among them, with those that its aliases stand for."""
    if depth > DEEPEST:
        raise nested_too_deep(where, _place(node))
    known = sizes.get(id(node))
    if known is not None:
        return known
    sizes[id(node)] = 1  # while it is counted, for one that holds itself
    size = 1
    for child in _children(node):
        size += _size(child, sizes, where, depth + 1)
        if size > MOST_VALUES:
            fact = f"has more than {MOST_VALUES:,} values, its aliases counted as what they name"
            step = "Write fewer, without aliases of aliases"
            raise problem_at(where, _place(child), fact, step)
    sizes[id(node)] = size
    return size


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
