"""The last upkeep of a lake, after which no file is to be left that no log names.

Maintenance deletes such a file only when it has long known it to be unused, since a job may still
be about to name it. So it is run twice: once as it is, to have it meet the files, and once by a
clock that is eight days ahead (libfaketime), which nothing else has.
"""

import shutil

from faults.report import VenueReport
from faults.stack import Stack

_AHEAD = "+8d"

_WITHIN_S = 300.0


def last_upkeep(stack: Stack, report: VenueReport) -> None:
    """Maintain the lake; where no clock can be set ahead, unnamed files count as young."""
    _maintain(stack, report, ())
    program = shutil.which("faketime")
    if program is None:
        report.skipped["upkeep eight days later"] = "there is no faketime"
        stack.keeps_young = True
        return
    _maintain(stack, report, (program, "-f", _AHEAD))


def _maintain(stack: Stack, report: VenueReport, before: tuple[str, ...]) -> None:
    done = stack.command("maintain", before=before, within_s=_WITHIN_S)
    if done.returncode != 0:
        said = f"the last upkeep ended with {done.returncode}: {done.stderr[-300:]}"
        report.failures.append(said)
