"""Whether the lock pins a release that an advisory is about: asks OSV, else a list that is here.

`make check` runs it. Exit code 1 says that there is one; where OSV cannot be asked, it says so, and
compares with `advisories.json`, which is as old as its date and knows no more than it lists.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import httpx
from packaging.specifiers import SpecifierSet

_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)

_TIMEOUT_S = 10.0
"""One question about all pins; without a network it is known at once."""

_HERE = Path(__file__).parent


def main() -> int:
    """Look, tell, and say whether all is well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lock", type=Path, default=_HERE.parent / "requirements.lock")
    parser.add_argument("--advisories", type=Path, default=_HERE / "advisories.json")
    parser.add_argument("--osv", default="https://api.osv.dev")
    options = parser.parse_args()
    pins = dict(_PIN.findall(options.lock.read_text()))
    known = json.loads(options.advisories.read_text())
    try:
        found = _asked(options.osv, pins)
        told = f"OSV knows of nothing about the {len(pins)} pins of {options.lock.name}"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as problem:
        found = _listed(known["advisories"], pins)
        told = (
            f"OSV could not be asked ({type(problem).__name__}), so this is no audit: of the "
            f"{len(known['advisories'])} advisories that were listed on {known['date']} none is "
            f"about the {len(pins)} pins of {options.lock.name}"
        )
    accepted = {one["id"] for one in known["accepted"]}
    bad = [(name, ids - accepted) for name, ids in sorted(found.items()) if ids - accepted]
    for name, ids in bad:
        where = ", ".join(f"https://osv.dev/{one}" for one in sorted(ids))
        print(f"{name}=={pins[name]}: {where}. Take another release, then `make lock`; or accept "
              f"it in {options.advisories.name}, with the reason", file=sys.stderr)  # fmt: skip
    if not bad:
        print(told)
    return int(bool(bad))


def _asked(url: str, pins: dict[str, str]) -> dict[str, set[str]]:
    """By pin, the ids of what OSV knows about it."""
    queries = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
        for name, version in pins.items()
    ]
    answer = httpx.post(f"{url}/v1/querybatch", json={"queries": queries}, timeout=_TIMEOUT_S)
    results = answer.raise_for_status().json()["results"]
    return {
        name: {one["id"] for one in result.get("vulns") or ()}
        for name, result in zip(pins, results, strict=True)
    }


def _listed(advisories: list[dict[str, Any]], pins: dict[str, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in advisories:
        version = pins.get(one["package"])
        if version is not None and SpecifierSet(one["affected"]).contains(
            version, prereleases=True
        ):
            found.setdefault(one["package"], set()).add(one["id"])
    return found


if __name__ == "__main__":
    sys.exit(main())
