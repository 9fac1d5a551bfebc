"""What records of a subject are called: by the title of its documents, as Confluent's clients do.

Pure.
"""

from typing import Any

from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.json_schema.documents import parse


def record_name(schemas: SchemaSet) -> str:
    """The title in the newest version that has one; the subject's name if none has.

    Under RecordNameStrategy the subject is called by it, so that it stays the same.
    """
    newest = sorted(schemas.versions.values(), key=lambda one: one.number, reverse=True)
    titles = (_title(one) for one in newest if not one.problem)
    return next(filter(None, titles), schemas.subject)


def _title(version: Version) -> str:
    document: Any = parse(version.descriptor_set).root.schema
    found = document.get("title") if isinstance(document, dict) else None
    return found if isinstance(found, str) else ""
