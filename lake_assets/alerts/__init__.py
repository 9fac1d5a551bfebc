"""Alerts: `problems`, `check_problems` and `decide` are pure, `observer` asks for the facts.

`outbox` keeps the undelivered, `sinks` deliver.
"""
