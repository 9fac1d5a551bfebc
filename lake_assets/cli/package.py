"""`lake-assets package`: what executors of a Spark cluster need of this installation."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption
from lake_assets.runtime import python_package
from lake_assets.settings.load import load_settings


def package(
    file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path(
        f"{python_package.NAME}.tar.gz"
    ),
    *,
    further: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="DISTRIBUTION",
            help="An installed distribution that functions of feeds import; may be repeated.",
            show_default=False,
        ),
    ] = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the archive that executors of a Spark cluster get their Python from.

    It holds this Python, lake_assets and what its tasks import, as they are installed here, and the
    modules beside your feeds: some 240 MB. Name it in `LAKE_ASSETS_SPARK_PACKAGE`, and Spark sends
    it to each executor. Executors need the same kind of machine and a C library that is not older;
    they need no Python. Make it again after an update: a session refuses one of other versions.
    """
    feeds, names = load_settings(home=home, feeds=feeds_folder).feeds, further or ()
    made_of = python_package.label(feeds, names)
    python_package.build(file, made_of, python_package.members(feeds, names))
    size = file.stat().st_size
    text = f"{file.absolute()}: {size / 1e6:.0f} MB, Python {made_of['python']}"
    tell(
        "package",
        {"file": file.absolute(), "bytes": size, "python": made_of["python"]},
        as_json=as_json,
        show=partial(
            stdout.print, text, soft_wrap=True, highlight=False, markup=False, emoji=False
        ),
    )
