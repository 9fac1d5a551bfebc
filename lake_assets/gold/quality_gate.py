"""Deciding which keys keep their gold as it is, since something blocking fails. Pure."""

from collections.abc import Mapping

from lake_assets.model.checks import Severity
from lake_assets.model.expectations import Action
from lake_assets.model.failures import Failing, Failures
from lake_assets.model.feeds import Feed


def blocked_keys(
    feed: Feed, failures: Failures, silver_versions: Mapping[str, int]
) -> dict[str, str]:
    """By key, what holds up its refresh, in words.

    What a check found holds for the version of silver that it looked at: of a later one the check
    must be asked again. What the streams found of an expectation holds until they find otherwise.

    Args:
        feed: what is declared now; what was blocking once does not matter.
        failures: what fails.
        silver_versions: of the keys that have silver.
    """
    blocking: dict[str, str] = {}
    for (key, name), failing in sorted(failures.items()):
        if key not in silver_versions or key in blocking:
            continue
        if _is_blocking_expectation(feed, key, name, failing) or (
            _is_blocking_check(feed, key, name) and failing.version == silver_versions[key]
        ):
            since = f"{failing.since:%Y-%m-%d %H:%M:%S} UTC"
            blocking[key] = f"{name} fails since {since} ({failing.words})"
    return blocking


def _is_blocking_expectation(feed: Feed, key: str, name: str, failing: Failing) -> bool:
    for expectation in feed.expectations:
        if expectation.name == name and expectation.blocking and expectation.concerns(key):
            # Quarantined rows are not in silver; above the set share, too much is missing there.
            return expectation.action is not Action.QUARANTINE or failing.severity is Severity.ERROR
    return False


def _is_blocking_check(feed: Feed, key: str, name: str) -> bool:
    return any(
        check.name == name and check.blocking and check.concerns(key) for check in feed.checks
    )
