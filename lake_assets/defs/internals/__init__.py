"""All that Dagster does not promise, one module a subject; tried on Dagster 1.13.27.

A private module, an attribute that is not marked public, a preview: asked for here alone, in small
functions that decide nothing. Each has a test that names it, so that a release that moves one fails
there first (`lake_assets_tests/defs/internals`); test_house holds that nothing is asked elsewhere.
"""
