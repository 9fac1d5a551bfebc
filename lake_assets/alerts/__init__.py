"""Alerts: `problems` and `decide` are pure, `outbox` keeps the undelivered, `sinks` deliver."""
