"""Which folders and addresses settings may name for a lake, its state and feeds."""

import os
from pathlib import Path

from lake_assets.errors import LakeError, SettingsError
from lake_assets.model.lake_uri import LakeUri, is_address
from lake_assets.model.tables import Layer
from lake_assets.model.validator_messages import fact_and_step
from lake_assets.settings.checks import address_complaint, folder_complaint
from lake_assets.settings.places import BESIDE_TABLES, GIVEN_WAY
from lake_assets.settings.schema import Settings

_PREFIX = "LAKE_ASSETS_"

_STATE = f"{_PREFIX}STATE"


def ensure_apart(settings: Settings) -> None:
    """Make sure that the state does not lie where tables do.

    Raises:
        SettingsError: it does.
    """
    kept = settings.state_root
    if not settings.lake_root.is_local:
        if kept is not None:
            _ensure_beside(settings.lake_root, kept)
        return
    if kept is not None:
        told = f"is {kept}, and the lake is in a folder, which keeps its state on a disk"
        raise SettingsError(_STATE, told, "Name a folder, or unset it")
    # Not `resolve`, which raises where links go in a circle: who opens the folder tells that.
    lake, state = (
        Path(os.path.realpath(place)) for place in (settings.lake_dir, settings.state_dir)
    )
    fact = None
    if lake.is_relative_to(state):
        fact = "is the folder of the tables, or one above it"
    elif any(state.is_relative_to(lake / layer) for layer in Layer):
        fact = "is among the tables, whose unused files are deleted now and then"
    if fact is not None:
        raise SettingsError(_STATE, fact, "Name one beside it")


def _ensure_beside(lake: LakeUri, kept: LakeUri) -> None:
    """Make sure that a state that is kept in a bucket can be, and not where tables are."""
    fact: str | None = None
    if kept.scheme != lake.scheme:
        fact = f"is {kept}, and the lake is in another kind of store, {lake}"
    elif f"{lake}/".startswith(f"{kept}/"):
        fact = "is the folder of the tables, or one above it"
    elif any(f"{kept}/".startswith(f"{lake / name}/") for name in (BESIDE_TABLES, GIVEN_WAY)):
        fact = "is where a restore has tables for a while"
    elif any(f"{kept}/".startswith(f"{lake / layer.value}/") for layer in Layer):
        fact = "is among the tables, whose unused files are deleted now and then"
    if fact is not None:
        raise SettingsError(_STATE, fact, f"Name another, such as {lake}/_state")


def whole_place(name: str, path: Path, *, is_option: bool) -> Path:
    """A folder's whole path; of what may be in a bucket, its address.

    Args:
        name: of the setting.
        path: as it was given.
        is_option: whether it was given on a command line.

    Raises:
        SettingsError: it is an address, or tables could not lie there.
    """
    takes_buckets = name in {"lake", "state"}
    if takes_buckets and (bucket := _in_bucket(name, path)) is not None:
        return bucket
    whole = path.expanduser().absolute()
    complaint = address_complaint(path, takes_buckets=takes_buckets)
    if complaint is None and name != "feeds":
        # Delta's library follows links before it takes a path for an address.
        places = (whole, Path(os.path.realpath(whole)))
        complaint = next(filter(None, map(folder_complaint, places)), None)
    if complaint:
        thing = f"--{name}" if is_option else _PREFIX + name.upper()
        fact, step = fact_and_step(complaint)
        raise SettingsError(thing, fact, step or "Name another folder")
    return whole


def _in_bucket(name: str, path: Path) -> Path | None:
    """A path in a bucket as it is kept, `s3:/bucket/path`; None of what is in none of these.

    Raises:
        SettingsError: deltalake does not find all that it puts there.
    """
    if not is_address(str(path)):
        return None
    try:
        place = LakeUri.parse(str(path))
    except LakeError:
        return None  # the complaint about addresses says so
    if place.for_deltalake().rstrip("/") != str(place):
        # deltalake (1.6.6) looks for checkpoints under a name that is encoded twice.
        fact = f"is {str(place)!r}, and Delta's library cannot use characters that addresses encode"
        raise SettingsError(
            _PREFIX + name.upper(), fact, "Use letters, digits, `-`, `_`, `.`, `=` and `/`"
        )
    return Path(str(place))
