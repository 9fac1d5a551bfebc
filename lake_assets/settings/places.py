"""Where everything of a lake is: tables, their state, feeds, what the product keeps besides."""

import hashlib
from pathlib import Path

from lake_assets.model.lake_uri import LakeUri, is_address
from lake_assets.settings.group import Group

USUAL_STATE = "_lake_assets"
"""Folder in a lake that has its state if no other is set; no layer is called so."""

BESIDE_TABLES, GIVEN_WAY = "_restore", "_replaced"
"""Folders in a lake that a restore has new tables in for a while, and those that give way."""


class Places(Group):
    """The folders of the settings, and what follows from them."""

    home: Path = Path(".lake_assets")
    """Folder of everything the product keeps: the lake, embedded services' data, Dagster's home."""

    lake: Path | None = None
    """Another place for the tables; unset, `<home>/lake`."""

    state: Path | None = None
    """Another folder for what the lake's writers keep beside the tables (locks, checkpoints,
    journals, heartbeat, alerts), on a local or mounted disk with `flock`; unset,
    `<lake>/_lake_assets`, or `<home>/state` where the lake is in a bucket. A lake and its state
    folder know each other by an id. Of a lake in a bucket it may be an address there as well
    (`s3://my-bucket/lake/_state`): what outlasts the writers' machine is kept in it then."""

    feeds: Path | None = None
    """Folder of feed YAML files; unset, the ones that ship with the package."""

    @property
    def lake_root(self) -> LakeUri:
        """Where the tables are: `<layer>/<table>` below it.

        Raises:
            LakeError: it is an address of a kind that is not known.
        """
        place = self.lake or self.home / "lake"
        return LakeUri.parse(str(place if is_address(str(place)) else place.absolute()))

    @property
    def lake_dir(self) -> Path:
        """`lake_root` as a folder of this machine.

        Raises:
            LakeError: it is in a bucket.
        """
        place = self.lake or self.home / "lake"
        return self.lake_root.as_path() if is_address(str(place)) else place

    @property
    def disk_dir(self) -> Path:
        """Whose disk of this machine a lake fills: its own; of one in a bucket, its state's."""
        return self.lake_dir if self.lake_root.is_local else self.state_dir

    @property
    def state_root(self) -> LakeUri | None:
        """Where in a bucket it is kept what outlasts `state_dir`; None where that is on a volume.

        Raises:
            LakeError: it is an address of a kind that is not known.
        """
        is_kept = self.state is not None and is_address(str(self.state))
        return LakeUri.parse(str(self.state)) if is_kept else None

    @property
    def state_dir(self) -> Path:
        """Checkpoints, lock and heartbeat of the streams, and the book of alerts.

        They belong to the tables, and `state.lake_id` sees to it that no other lake's are used.
        """
        if (kept := self.state_root) is not None:
            # Another lake, or another address, has another folder: what it has is theirs.
            both = f"{self.lake_root} {kept}".encode()
            return self.home / f"state-{hashlib.sha256(both).hexdigest()[:8]}"
        if self.state is not None:
            return self.state
        return self.lake_dir / USUAL_STATE if self.lake_root.is_local else self.home / "state"

    @property
    def services_dir(self) -> Path:
        """Data, logs and addresses of the embedded services."""
        return self.home / "services"

    @property
    def dagster_home(self) -> Path:
        """Dagster's own storage when `lake-assets demo` starts it."""
        return self.home / "dagster"
