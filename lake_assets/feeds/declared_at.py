"""On which line of which file a feed and its parts are declared, for who wants to look there.

Whether the file is right was seen when feeds were loaded: what cannot be found is left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from lake_assets.feeds.load import files_of

# Half of a second for a thousand keys without libyaml, which wheels of PyYAML have.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredAt:
    """Where a feed is declared; lines are counted from 1."""

    path: Path
    line: int
    views: Mapping[str, int] = field(default_factory=dict)
    """By name of a gold view, its line."""

    sinks: Mapping[str, int] = field(default_factory=dict)
    external: Mapping[str, int] = field(default_factory=dict)
    """Likewise those of sinks, and of tables outside the lake."""


def declared_at(folder: Path | None) -> Mapping[str, DeclaredAt]:
    """By name of a feed in a YAML file of a folder (None: of those that ship), where it is.

    Raises:
        FeedError: the folder cannot be read, or has no file of a feed.
    """
    found = {}
    for path in files_of(folder):
        if path.suffix in {".yaml", ".yml"}:
            try:
                root = yaml.compose(path.read_text(), _Loader)
            except (OSError, UnicodeError, yaml.YAMLError):
                continue
            parts = dict(_parts(root))
            name = parts.get("feed")
            if isinstance(name, yaml.ScalarNode):
                found[name.value] = DeclaredAt(
                    path=path,
                    line=_line(name),
                    views=dict(_named(parts.get("gold"))),
                    sinks=dict(_named(parts.get("sinks"))),
                    external=dict(_keyed(parts.get("external"))),
                )
    return found


def _parts(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            yield key.value, value


def _keyed(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            yield key.value, _line(key)


def _named(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    for one in node.value if isinstance(node, yaml.SequenceNode) else ():
        name = dict(_parts(one)).get("name")
        if isinstance(name, yaml.ScalarNode):
            yield name.value, _line(name)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
