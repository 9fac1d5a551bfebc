"""A jar that is no part of the product: fetched when a benchmark needs it, as the product's are.

Into the user's cache, by Ivy, checked by its SHA-256. What each is for says who asks for it.
"""

import tempfile
from pathlib import Path

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime import ivy
from lake_assets.runtime.cache import cache_dir
from lake_assets.runtime.file_lock import lock
from lake_assets.runtime.jars import Artifact
from lake_assets.runtime.java import find_java
from lake_assets.settings.schema import RuntimeSettings

_FOLDER = "bench"
_IVY = Path(__file__).with_name("ivy.xml")


def fetched_jar(settings: RuntimeSettings, jar: Artifact, configuration: str) -> Path:
    """The jar, fetched if it is not there yet.

    Args:
        settings: where it comes from, and is kept.
        jar: what it must be.
        configuration: that has it in `ivy.xml`.

    Raises:
        RuntimeSetupError: it cannot be had, or is not what it should be.
    """
    folder = cache_dir(settings.cache) / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / jar.name
    with lock(folder / "jar.lock"):
        if jar.fits(path):
            return path
        java = find_java(settings.cache)
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            found = ivy.retrieve(
                (configuration,),
                java,
                Path(staging),
                settings=settings.ivy_settings,
                log=folder / "ivy.log",
                ivy_file=_IVY,
            )
            fetched = found / configuration / jar.name
            if not jar.fits(fetched):
                fact = "is not the file it should be"
                raise RuntimeSetupError(jar.name, fact, "Ask whose mirror it came from")
            fetched.replace(path)
    return path
