"""The command `lake-assets`, and `python -m lake_assets`: `cli.main`, imported so that Ctrl-C may.

It takes a third of a second to import, in which an interrupt would be a trace.
"""


def run() -> None:
    """Run the command line."""
    try:
        from lake_assets.cli import main  # noqa: PLC0415 - see above
    except KeyboardInterrupt:
        from lake_assets.cli import main  # noqa: PLC0415 - it says how commands end

        main.end_interrupted()
    main.run()


if __name__ == "__main__":
    run()
