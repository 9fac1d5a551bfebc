"""What pydantic finds wrong with a feed, in words that say what would be right."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from pydantic_core import ErrorDetails

from lake_assets.feeds.document import Loc
from lake_assets.feeds.examples import example_of
from lake_assets.feeds.known_fields import fields_at, mapping_at, suggest
from lake_assets.feeds.problems import Words
from lake_assets.feeds.wrong_values import HIDDEN, again, found_in, wrong_value
from lake_assets.model.validator_messages import fact_and_step


def explain(problem: ErrorDetails, raw: str | None = None) -> Words:
    """What is wrong with a field, and what would be right.

    Args:
        problem: as pydantic tells it.
        raw: what stands in the file for the field, if that is a single value: YAML may have taken
            it for something else than a text.
    """
    loc, kind = problem["loc"], problem["type"]
    where = dotted(loc) or "the file"
    if _is_secret(loc):
        problem, raw = {**problem, "input": HIDDEN}, None
    if kind == "missing":
        return Words(f"{where} is missing", f"Add it, such as `{example_of(loc)}`")
    if kind == "extra_forbidden":
        return _unknown_field(loc, where)
    if kind in {"model_type", "model_attributes_type"}:
        found = found_in(problem["input"], raw)
        fact = f"{where} must be {mapping_at(loc)}, not {found}"
        is_secret = fields_at(loc) == ["env"]
        return Words(fact, again(loc, "{env: NAME}" if is_secret else "{name: value}"))
    if kind == "value_error":
        return said(problem["msg"].removeprefix("Value error, "), dotted(loc), loc)
    return wrong_value(problem, where, raw)


_SECRET = re.compile(r"password|token|secret|bearer|basic|header|^env$|^value$|^user$")


def _is_secret(loc: Loc) -> bool:
    if loc[:1] in {("route",), ("routes",)}:  # which read headers, and send none
        return False
    return any(_SECRET.search(str(part)) is not None for part in loc)


def said(message: str, where: str, loc: Loc) -> Words:
    """What a validator of ours says of a field, or of the feed if `where` is empty."""
    fact, step = fact_and_step(message)
    if not fact:
        return Words(f"{where or 'the feed'} is incomplete", step)
    begin = f"{where}: " if where else ""
    return Words(f"{begin}{fact}", step or _docs_of(loc, fact))


def _unknown_field(loc: Loc, where: str) -> Words:
    fact, step = fact_and_step(suggest(str(loc[-1]), fields_at(loc[:-1])))
    return Words(f"{where} is no field{fact}", step or "Remove it, or use one of these")


def told_once(problems: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Without what follows from others.

    A field is missing since its name is misspelt; a list too short since what is in it is wrong;
    of a field with several forms, pydantic tells what each of them lacks.
    """
    problems = _of_one_form(problems)
    unknown = [one["loc"] for one in problems if one["type"] == "extra_forbidden"]

    def follows(one: ErrorDetails) -> bool:
        loc = one["loc"]
        if one["type"] == "missing":
            names = [str(other[-1]) for other in unknown if other[:-1] == loc[:-1]]
            return bool(get_close_matches(str(loc[-1]), names))
        within = (other["loc"] for other in problems if len(other["loc"]) > len(loc))
        return one["type"] == "too_short" and any(other[: len(loc)] == loc for other in within)

    return [one for one in problems if not follows(one)]


_FORM = re.compile(r"[\w-]+\[.*\]")
"""How pydantic calls a form of a field's value within a place: `dict[int,int]`."""


def _of_one_form(problems: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Each field with several forms once, by the form that fits it best; forms are no places."""
    best: dict[Loc, ErrorDetails] = {}
    others: list[ErrorDetails] = []
    fields = {one["loc"][:at] for one in problems if (at := _form_in(one["loc"])) is not None}
    for one in problems:
        loc = one["loc"]
        field = next((loc[:at] for at in range(len(loc)) if loc[:at] in fields), None)
        if field is None:
            others.append(one)
            continue
        forms = loc[len(field) + 1 :]
        within = tuple(part for part in forms if not _FORM.fullmatch(str(part)))
        if within[-1:] == ("[key]",):  # a name, which another form may take
            within = ()
        told: ErrorDetails = {**one, "loc": (*field, *within)}
        if not within:
            told["type"] = "form"  # none of pydantic's: the value has no form that there is
        if field not in best or len(told["loc"]) > len(best[field]["loc"]):
            best[field] = told
    return [*others, *best.values()]


def _form_in(loc: Loc) -> int | None:
    return next((at for at, part in enumerate(loc) if _FORM.fullmatch(str(part))), None)


_DOCS = {  # by field, or by field and kind
    "source": "topics.md",
    "source.files": "files.md",
    "source.delta": "delta-source.md",
    "source.kinesis": "kinesis.md",
    "source.postgres": "postgres-source.md",
    "payload": "json-and-csv.md",
    "payload.avro": "avro.md",
    "route": "routes.md",
    "routes": "routes.md",
    "selects": "transforms.md",
    "masks": "transforms.md",
    "select": "transforms.md",
    "transform": "python-transforms.md",
    "deduplicate": "deduplication.md",
    "gold": "gold-views.md",
    "keyed": "keyed-tables.md",
    "sinks": "rest-sinks.md",
    "sinks.sql": "sql-sinks.md",
    "sinks.kafka": "kafka-sinks.md",
    "sinks.python": "python-sinks.md",
    "grants": "grants.md",
    "into": "several-feeds.md",
    "external": "external-tables.md",
    "run": "scheduled-feeds.md",
}


def _docs_of(loc: Loc, message: str) -> str:
    first = str(loc[0]) if loc else message.partition(":")[0].strip()
    kinds = (_DOCS.get(f"{first}.{part}") for part in loc[1:])
    page = next(filter(None, kinds), _DOCS.get(first))
    return f"docs/{page} says what may be there" if page else "`lake-assets schema feed` has all"


def dotted(loc: Loc) -> str:
    """A place in a feed, as `gold[0].sql`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return "".join(parts).removeprefix(".").removesuffix(".[key]")
