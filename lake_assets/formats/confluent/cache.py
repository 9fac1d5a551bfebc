"""Schemas kept in files, so that known ids are decoded while the registry is down, restarts or not.

Only what cannot change is kept: versions and their ids. That an id is unknown or another subject's
may be different tomorrow, so it is asked about again after a restart.
"""

import base64
import hashlib
import json
import logging
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from lake_assets.errors import RegistryError, SchemaNotFoundError, SchemaUnusableError
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.runtime.atomic_write import replace_text

_LOG = logging.getLogger(__name__)

_WRITING = Lock()
"""Feeds of one process may have one subject, and a staged file has the process' name."""

_FORMAT = 1
"""Changes whenever what is compiled or how it is written does; other files are not read."""

_SHOWN = 80
"""Characters of the subject that its file's name shows; file systems end at 255 bytes."""


@dataclass(frozen=True, slots=True)
class SchemaCache:
    """The versions of subjects, one file each below a folder that one lake has for itself."""

    folder: Path

    def read(self, subject: str) -> dict[int, Version]:
        """The versions kept, by schema id; none if there is no file that can be read."""
        path = self._path(subject)
        try:
            return _versions(json.loads(path.read_text()), subject)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
            _LOG.warning(
                "%s: cannot be read (%s: %s). The registry is asked again and the file replaced",
                path,
                type(problem).__name__,
                problem,
            )
            return {}

    def subjects(self) -> list[str]:
        """The subjects of which something is kept, by name; files that cannot be read have none."""
        found = set()
        for path in self.folder.glob("*.json"):
            try:
                found.add(str(json.loads(path.read_text())["subject"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue  # `read` warns of a subject's own file
        return sorted(found)

    def write(self, schemas: SchemaSet) -> None:
        """Keep the versions of a subject in the place of what was kept of it.

        A folder that cannot be written is warned of: the stream needs no cache to go on.
        """
        kept = {
            "format": _FORMAT,
            "subject": schemas.subject,
            "versions": {
                str(schema_id): {
                    "number": version.number,
                    "problem": version.problem,
                    "source": version.source,
                    "is_deleted": version.is_deleted,
                    "descriptor_set": base64.b64encode(version.descriptor_set).decode(),
                    "sha256": hashlib.sha256(version.descriptor_set).hexdigest(),
                }
                for schema_id, version in schemas.versions.items()
            },
        }
        path = self._path(schemas.subject)
        try:
            with _WRITING:
                replace_text(path, json.dumps(kept))
        except OSError as problem:
            _LOG.warning(
                "%s: cannot be written (%s). Without it, a restart needs the registry",
                path,
                problem.strerror,
            )

    def _path(self, subject: str) -> Path:
        # Two subjects may begin alike, and some file systems know no case.
        digest = hashlib.sha256(subject.encode()).hexdigest()[:12]
        return self.folder / f"{quote(subject, safe='')[:_SHOWN]}-{digest}.json"


@dataclass(frozen=True, slots=True)
class CachedRegistry:
    """A registry whose answers are kept; what it said before holds while it is down."""

    registry: Registry
    cache: SchemaCache

    def newest(self, subject: str, message: str | None = None) -> SchemaSet:
        """As `Registry.newest`; without an answer, the versions that are kept.

        Raises:
            SchemaNotFoundError: the registry answered that the subject does not exist.
            SchemaUnusableError: none of its versions can be decoded into columns.
            RegistryError: no answer, and no version is kept that makes columns.
        """
        kept = SchemaSet(subject=subject, message=message, versions=self.cache.read(subject))
        try:
            schemas = self.registry.newest(subject, message, kept)
        except (SchemaNotFoundError, SchemaUnusableError):
            raise
        except RegistryError as problem:
            if not self._makes_columns(kept):
                raise
            _LOG.warning("%s. Until it answers, the schemas in %s hold", problem, self.cache.folder)
            return kept
        self._keep(kept, schemas)
        return schemas

    def check(self, subject: str) -> None:
        """As `Registry.check`: what is kept does not count.

        Raises:
            RegistryError: the registry does not answer, or has no such subject.
        """
        self.registry.check(subject)

    def resolve(self, schemas: SchemaSet, ids: Collection[int]) -> SchemaSet:
        """As `Registry.resolve`.

        Raises:
            RegistryError: no answer; ids that were never met cannot be judged without one.
        """
        resolved = self.registry.resolve(schemas, ids)
        self._keep(schemas, resolved)
        return resolved

    def _makes_columns(self, schemas: SchemaSet) -> bool:
        try:
            self.registry.language.check(schemas)
        except RegistryError:
            return False
        return True

    def _keep(self, before: SchemaSet, after: SchemaSet) -> None:
        if after.versions != before.versions:
            self.cache.write(after)


def _versions(kept: dict[str, object], subject: str) -> dict[int, Version]:
    """What a file says.

    Raises:
        ValueError: it is damaged, of another format, or another subject's.
    """
    if (kept["format"], kept["subject"]) != (_FORMAT, subject):
        raise ValueError("of another format or subject")
    versions = kept["versions"]
    if not isinstance(versions, dict):
        raise TypeError("no versions")
    return {int(schema_id): _version(entry) for schema_id, entry in versions.items()}


def _version(one: dict[str, Any]) -> Version:
    descriptor_set = base64.b64decode(one["descriptor_set"], validate=True)
    if hashlib.sha256(descriptor_set).hexdigest() != one["sha256"]:
        raise ValueError("a descriptor is damaged")
    return Version(
        number=int(one["number"]),
        descriptor_set=descriptor_set,
        problem=str(one["problem"]),
        source=str(one["source"]),
        is_deleted=one.get("is_deleted") is True,  # earlier releases kept none of those
    )
