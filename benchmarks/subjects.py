"""Demux of rows of two registry subjects, mixed: what that costs beside demux of one."""

from dataclasses import replace

from benchmarks.ground import Ground
from benchmarks.ours import DEMUX, walk
from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.model.payload import Payload

TWO = "demux-two-subjects"


def of_two(ground: Ground) -> dict[str, float]:
    """Every second version is of another subject, too, which leads; equal texts have equal ids."""
    subject = ground.feed.payload.subject
    other = f"{subject}-other"
    endpoints = ground.endpoints
    with registry_client(endpoints.registry, endpoints.registry_access) as client:
        for number in client.get_versions(subject)[::2]:
            client.register_schema(other, client.get_version(subject, number).schema)
        try:
            payload = Payload.model_validate({"protobuf": {"subjects": [other, subject]}})
            feed = ground.feed.model_copy(update={"payload": payload})
            return {TWO: walk(replace(ground, feed=feed))[DEMUX]}
        finally:
            client.delete_subject(other)
