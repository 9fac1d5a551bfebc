"""`lake-assets schema`: JSON Schemas of the files that users write, for their editors."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.shared import JsonOption
from lake_assets.errors import SettingsError
from lake_assets.feeds.json_schema import feed_schema

app = typer.Typer(
    name="schema",
    help="Print the JSON Schema of feeds, by which editors complete and check them.",
    no_args_is_help=True,
)


@app.callback()
def schemas_of_files() -> None:
    """Print the JSON Schema of feeds, by which editors complete and check them."""


@app.command()
def feed(
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Write it into this file.", show_default="printed"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the JSON Schema of a feed's file.

    VS Code (with the extension YAML), JetBrains' and others complete and check a feed that says in
    its first line where its schema is: `# yaml-language-server: $schema=feed.schema.json`.
    """
    schema = feed_schema()
    text = json.dumps(schema, indent=2)
    if output is None:
        tell("schema feed", schema, as_json=as_json, show=partial(print, text))
        return
    try:
        output.write_text(f"{text}\n", encoding="utf-8")
    except OSError as problem:
        fact = f"cannot be written ({problem.strerror or problem})"
        raise SettingsError(str(output), fact, "Name another file") from problem
    tell("schema feed", {"file": output.absolute()}, as_json=as_json)
