"""The schemas of messages that files bring: a declared one as it was when they were found."""

import base64
import json

from google.protobuf.message import DecodeError

from lake_assets.formats.confluent.schemas import Version
from lake_assets.formats.protobuf.messages import messages_of


def brought_version(number: int, text: str) -> Version:
    """A schema as a version; what is none is one with a problem.

    Args:
        number: of the version.
        text: JSON with `descriptors`, a `FileDescriptorSet` in Base64 whose last file has the
            message, as `sources.files.declared_messages` writes it.
    """
    try:
        descriptors = base64.b64decode(json.loads(text)["descriptors"], validate=True)
        messages_of(descriptors)
    except (ValueError, KeyError, TypeError, IndexError, DecodeError) as problem:
        return Version(number=number, problem=f"is no schema of messages ({problem})")
    return Version(number=number, descriptor_set=descriptors)
