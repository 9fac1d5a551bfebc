"""What YAML's parser finds wrong with a file, in words that say what to write instead.

The parser tells what it expected where; what its writer meant is guessed from the line there.
"""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import yaml

from lake_assets.feeds.problems import Place

_Words: TypeAlias = tuple[str, str]
"""The fact and the next step."""

_Rule: TypeAlias = Callable[[str, int, yaml.MarkedYAMLError], _Words | None]
"""Takes the line, the column in it, counted from 0, and what the parser says."""


def explain_yaml(text: str, problem: yaml.MarkedYAMLError) -> tuple[Place | None, str, str]:
    """Where, what is wrong, and what to do."""
    mark = problem.problem_mark
    if mark is None:
        return None, f"is not YAML: {problem.problem}", _LOOK
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    place = Place(mark.line + 1, mark.column + 1)
    for rule in _RULES:
        if (words := rule(line, mark.column, problem)) is not None:
            return place, f"is not YAML: {words[0]}", words[1]
    return place, f"is not YAML: {problem.problem}", _LOOK


def explain_character(text: str, problem: yaml.reader.ReaderError) -> tuple[Place, str, str]:
    """The same of a character that no YAML may have."""
    before = text[: problem.position]
    start = before.rfind("\n") + 1
    place = Place(before.count("\n") + 1, len(before) - start + 1)
    fact = f"is not YAML: it has the control character U+{int(problem.character):04X}"
    return place, fact, "Delete it; an editor shows it if it shows what is invisible"


_LOOK = "Compare this line and the one above with `lake_assets/feeds/games.yaml`"

_VALUE = re.compile(r"(?:^\s*(?:-\s+)?[^\s:#'\"{}\[\]][^:#]*:\s+|^\s*-\s+|[,{\[]\s*(?:\w+:\s+)?)")
"""What stands before a value, at the beginning of a line or within brackets."""


def _quoted(line: str, column: int) -> str:
    """How the value that begins, or goes on, at a column would be written in quotes."""
    starts = [match.end() for match in _VALUE.finditer(line) if match.end() <= column + 1]
    value = line[starts[-1] if starts else column :].split(" #", maxsplit=1)[0].strip()
    value = value.rstrip("}],") if value[:1] not in "{[" else value
    mark = "'" if '"' in value or "'" not in value else '"'
    return f"Write it in quotes: {mark}{value}{mark}"


def _tab(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    if "\\t" not in str(problem.problem) and "\t" not in line[: column + 1]:
        return None
    return "a tab stands where blanks should", "Replace each tab by blanks"


def _star(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    if "alias" not in f"{problem.context} {problem.problem}":
        return None
    value = line[: column + 1].rfind("*")
    if value < 0:
        return None
    fact = "an unquoted value begins with *, which stands for another value in YAML"
    return fact, _quoted(line, value)


def _sign(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    if "cannot start any token" not in str(problem.problem):
        is_anchor = "anchor" in str(problem.context)
        return ("an unquoted value begins with &", _quoted(line, column)) if is_anchor else None
    sign = line[column : column + 1]
    return f"no unquoted value begins with {sign}", _quoted(line, column)


def _second_document(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    del column
    if "single document" not in str(problem.context) + str(problem.problem):
        return None
    begun = f"`{line.strip()}`" if line.strip() else "`---`"
    return f"a second document begins at {begun}", "Put each feed into a file of its own"


def _quotes(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    del line, column
    if "quoted scalar" not in str(problem.context):
        return None
    if "escape" in str(problem.problem):
        fact = r"within double quotes, \ begins a character that is written otherwise"
        return fact, r"Use single quotes, or write \\ for each \ "[:-1]
    begun = problem.context_mark
    where = f" on line {begun.line + 1}" if begun else ""
    return f"the quote that is opened{where} is not closed", "Close it with the same quote"


def _brackets(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    del line, column
    kind = str(problem.context)
    if "flow" not in kind:
        return None
    sign, end = ("[", "]") if "sequence" in kind else ("{", "}")
    where = f" on line {problem.context_mark.line + 1}" if problem.context_mark else ""
    fact = f"what `{sign}` opens{where} is not closed here, nor does a comma stand here"
    return fact, f"Close it with `{end}`, or put a value that has any of ,[]{{}}: in quotes"


def _colon(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    if "mapping values are not allowed" not in str(problem.problem):
        return None
    head = re.match(r"\s*(?:-\s+)?[\w.-]+:\s+", line)
    if head is not None and head.end() <= column:
        return "an unquoted value has a colon with a blank after it", _quoted(line, column)
    before = problem.problem_mark.buffer if problem.problem_mark else None
    above = _above(before, problem)
    if above and ":" not in above and not line.startswith((" ", "-")):
        return f"the line before (`{above}`) has no colon", "Write `name: value`"
    return _indent_words()


def _above(text: str | None, problem: yaml.MarkedYAMLError) -> str:
    """The line before the one that the parser tells of."""
    mark = problem.problem_mark
    lines = (text or "").splitlines()
    return lines[mark.line - 1].strip() if mark and 0 < mark.line <= len(lines) else ""


def _indent(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    said = str(problem.problem)
    if "<block end>" not in said and "inconsistent" not in said:
        return None
    before = line[:column].rstrip()
    if before.endswith(("}", "]", "'", '"')):
        fact = f"text stands after the closing {before[-1]}"
        return fact, "Put all of the value in quotes, such as '{key}_events'"
    return _indent_words()


def _indent_words() -> _Words:
    fact = "this line is indented otherwise than the lines that it belongs to"
    return fact, "Align it with them by blanks"


def _no_colon(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    del line, column
    if "could not find expected ':'" not in str(problem.problem):
        return None
    where = f"line {problem.context_mark.line + 1}" if problem.context_mark else "a line before"
    begun = _line_at(problem.context_mark)
    if ":" in begun and "#" not in begun.partition(":")[0]:
        return f"{where} has no blank after its colon", "Write `name: value`, with a plain blank"
    return f"{where} has no colon", "Write `name: value`"


def _line_at(mark: yaml.Mark | None) -> str:
    lines = ((mark.buffer if mark else None) or "").splitlines()
    return lines[mark.line] if mark and mark.line < len(lines) else ""


def _merge(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    del line, column
    if "for merging" not in str(problem.problem):
        return None
    step = "Write `<<: *name`, where `&name` stands before a mapping"
    return "`<<` takes in what is no mapping", step


def _tag(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    if "constructor for the tag" not in str(problem.problem):
        return None
    tag = line[column:].split(maxsplit=1)[0] if line[column:].split() else "!"
    return f"it has the tag {tag}", "Feeds have no tags: remove it, or write the value in quotes"


def _key(line: str, column: int, problem: yaml.MarkedYAMLError) -> _Words | None:
    if "unhashable key" not in str(problem.problem):
        return None
    step = _quoted(line, column)
    if (template := re.search(r"\{\{.*?\}\}", line)) is not None:
        step = f"Write it in quotes: '{template[0]}'; feeds have no templates"
    return "a name is a list or a mapping", step


_RULES: Sequence[_Rule] = (
    *(_tab, _second_document, _quotes, _star, _sign, _brackets, _colon, _no_colon, _indent),
    *(_tag, _key, _merge),
)
"""The first that has words for it."""
