"""Functions that feeds name, `my_package.enrich:add_country`, found by their names in any process.

What such a function is to do is not known here; `silver.transform_trial` tries a `transform`.
"""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from lake_assets.errors import FeedError, first_line


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function by its name, as it travels to Spark's workers: its code does not."""

    name: str
    """`module:function`."""

    root: str | None = None
    """Folder below which its module was found, for processes that do not look there."""

    def load(self) -> Callable[..., Any]:
        """The function itself; in a process that has it already, the same.

        Raises:
            FeedError: this process cannot import it.
        """
        return _loaded(self)


def find_function(name: str) -> NamedFunction:
    """Import a function's module, and tell where it was found.

    Raises:
        FeedError: it cannot be imported, or is not there, or cannot be called.
    """
    function = NamedFunction(name)
    _loaded(function)
    return NamedFunction(name, _root(name.partition(":")[0]))


def look_beside(folder: Path) -> None:
    """Have modules imported from a folder that are found nowhere else, as feeds' own are."""
    place = str(folder)
    if place not in sys.path:
        # Last: a file `json.py` there must not stand for Python's own.
        sys.path.append(place)
        importlib.invalidate_caches()


def hidden_module(name: str, folder: Path) -> str:
    """Where a function's module is imported from, if not from the folder that has it as well."""
    top = name.partition(":")[0].partition(".")[0]
    own = [folder / f"{top}.py", folder / top / "__init__.py"]
    there = next((path for path in own if path.is_file()), None)
    spec = find_spec(top) if there else None
    if there is None or spec is None or spec.origin is None:
        return ""
    return "" if Path(spec.origin).resolve() == there.resolve() else spec.origin


@cache
def _loaded(function: NamedFunction) -> Callable[..., Any]:
    if function.root is not None:
        look_beside(Path(function.root))
    module, _, path = function.name.partition(":")
    found: Any = _imported(function.name, module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if found is None:
        fact = f"is not in module {module}"
        raise FeedError(_thing(function.name), fact, f"Define {path} there, or name another one")
    if not callable(found):
        fact = f"is {type(found).__name__}, which cannot be called"
        raise FeedError(_thing(function.name), fact, "Name a function")
    return found  # type: ignore[no-any-return]


def _imported(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name is None or not f"{module}.".startswith(f"{problem.name}."):
            raise _broken(name, module, problem) from problem
        fact = f"there is no module {problem.name}"
        step = "Install it, put it beside the feed's file, or put its folder on PYTHONPATH"
        raise FeedError(_thing(name), fact, step) from problem
    except Exception as problem:  # a module may raise anything
        raise _broken(name, module, problem) from problem


def _broken(name: str, module: str, problem: Exception) -> FeedError:
    fact = f"module {module} cannot be imported ({type(problem).__name__}: {first_line(problem)})"
    return FeedError(_thing(name), fact, "Correct the module")


def _root(module: str) -> str | None:
    """The folder below which a module is found by its name; None if it is no plain file."""
    origin = getattr(sys.modules[module], "__file__", None)
    if origin is None:
        return None
    file = Path(origin).absolute()
    levels = module.count(".") + (file.name == "__init__.py")
    root = file.parents[levels]
    return str(root) if root.is_dir() else None


def _thing(name: str) -> str:
    return f"function {name!r}"
