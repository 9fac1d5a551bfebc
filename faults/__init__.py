"""The fault suite, `make faults`: continuous load, faults of every kind, and a count afterwards.

Starts a lake as users run it, lets a producer of its own write to it, kills, pauses and starves its
parts in an order that a seed fixes, and has a reader of its own count what came of each event that
the broker acknowledged. What one kind of fault is, is in `fault`; which there are, in `catalog`.

Not here: the model-based tests of single faults, which are in `lake_assets_tests/e2e`; how fast
anything is, which `benchmarks` measures. Nothing here is in the wheel.
"""
