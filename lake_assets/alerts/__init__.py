"""Alerts: `judge` and `decide` are pure, `outbox` keeps what is not delivered, `sinks` deliver."""
