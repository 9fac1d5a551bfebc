from importlib import import_module

import pytest

from lake_assets.defs import lazy_imports
from lake_assets.defs.lazy_imports import MODULES


def test_each_name_is_there_and_told_to_type_checkers():
    names = {(module, name) for module, some in MODULES.items() for name in some}
    assert {name for _, name in names} == set(lazy_imports.__all__)
    for module, name in names:
        assert callable(getattr(import_module(module), name))
        assert getattr(lazy_imports, name).__module__ == module


def test_a_call_is_the_functions_own(settings):
    with pytest.raises(TypeError, match="has_work"):
        lazy_imports.has_work(settings, feed=())  # type: ignore[call-arg]
    assert lazy_imports.target_of is not import_module("lake_assets.backup.scheduled").target_of
    assert lazy_imports.has_work(settings, []) is False
