"""Where Dagster's records say that something comes from; it wants that of some of them."""

from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)

REPOSITORY = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("lake_assets"), "lake_assets")


def instigator(name: str) -> RemoteInstigatorOrigin:
    """A sensor's or a schedule's."""
    return RemoteInstigatorOrigin(REPOSITORY, name)
