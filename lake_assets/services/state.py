"""What is remembered of an embedded service between shells: its process and its ports."""

from pathlib import Path

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from lake_assets.model.processes import ProcessId
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.services.service import Ports


class ServiceState(BaseModel):
    """One service's `state.json`."""

    model_config = ConfigDict(frozen=True)

    ports: Ports
    """Kept when the service is down, so that it comes back where it was."""

    child: ProcessId | None = None
    is_ready: bool = False
    """Whether it answered once since it was started."""

    @field_validator("child", mode="wrap")
    @classmethod
    def _unknown_is_none(
        cls, value: object, validate: ValidatorFunctionWrapHandler
    ) -> ProcessId | None:
        """A process noted by the wall clock, as the first release did, is found by its mark."""
        try:
            return validate(value)  # type: ignore[no-any-return]
        except ValidationError:
            return None


def read_state(folder: Path) -> ServiceState | None:
    """What is known of the service in `folder`; a file that cannot be read counts as none."""
    try:
        return ServiceState.model_validate_json((folder / "state.json").read_bytes())
    except (OSError, ValidationError):
        return None


def write_state(folder: Path, state: ServiceState) -> None:
    """Remember `state`; readers see the old one or the new one."""
    replace_text(folder / "state.json", state.model_dump_json(indent=2))
