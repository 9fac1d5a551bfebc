"""A launcher that starts each run in a container of its own, as Kubernetes' and Docker's do."""

import dagster as dg
import pytest
from dagster._core.launcher import LaunchRunContext, RunLauncher


class PodLauncher(RunLauncher):
    """Starts nothing: only what is asked of those launchers here."""

    def launch_run(self, context: LaunchRunContext) -> None:
        raise NotImplementedError

    def terminate(self, run_id: str) -> bool:
        raise NotImplementedError


def use_pods(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an instance such a launcher."""
    launcher = PodLauncher()
    launcher.register_instance(instance)
    monkeypatch.setattr(instance, "_run_launcher", launcher)
