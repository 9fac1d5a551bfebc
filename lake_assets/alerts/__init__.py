"""Alerts: what is wrong (`problems`, `check_problems`), what of it is news (`decide`), who is told.

`observer` asks for the facts, `outbox` keeps what is undelivered, `sinks` deliver. What Dagster
knows is asked in `defs`, and when a sensor looks is decided there.
"""
