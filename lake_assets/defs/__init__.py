"""Dagster's view of the lake, one module a package of the core: translates, and decides nothing.

Each module has `build(settings, feeds) -> dg.Definitions`; `lake_assets.definitions` merges them.
No engine is touched here, and no rule is decided.
"""
