"""What was called otherwise in earlier releases, and what to write now."""

_KEYS = "is `--key` now, once for each: `--key uno --key poker`"

_OPTIONS = {"--game": _KEYS, "--games": _KEYS, "--keys": _KEYS}

_ARGUMENTS = {"schemas": "--feed", "backfill": "--feed", "redeliver": "--sink"}
"""By command, the option that its argument is now."""


def advice(command: str, option: str | None, message: str) -> str | None:
    """What to write instead of something that is known no more; None if it never was.

    Args:
        command: which was called.
        option: that it does not know.
        message: of the refusal.
    """
    if option in _OPTIONS:
        return f"{option} {_OPTIONS[option]}"
    if command in _ARGUMENTS and "extra argument" in message:
        return f"{message.rstrip('.')}: name it by `{_ARGUMENTS[command]}`"
    return None
