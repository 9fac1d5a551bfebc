"""What a Spark master's address says of where tasks run; whether there is one is nobody's here."""

import os
import re

_LOCAL = re.compile(r"local(?:\[(?P<cores>\d+|\*)(?:,.*)?\])?")


def local_cores(master: str) -> int | None:
    """How many tasks a master of one JVM runs at once; None of a cluster's."""
    found = _LOCAL.fullmatch(master)
    if found is None:
        return None
    cores = found["cores"] or "1"
    return (os.cpu_count() or 2) if cores == "*" else int(cores)
