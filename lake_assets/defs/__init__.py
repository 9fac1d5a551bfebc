"""Dagster's view of the lake, one module a room of the core: translates, and decides nothing.

Each room has `build(settings, feeds) -> dg.Definitions`; `lake_assets.definitions` merges them.
"""
