"""Made-up events of many games: protobuf, whose schema versions are registered as they come up.

A world of players (`population`), its events as bytes (`encode`, `schema`, `registration`), and all
of it as a `simulator.workload.Workload` (`events`). How much is sent, and when, is decided
elsewhere.
"""
