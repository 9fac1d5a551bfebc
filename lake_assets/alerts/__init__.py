"""Alerts: what is wrong (`problems`), what of it is news (`decide`), who is told (`sinks`).

Nothing is measured here: facts come from whoever calls. When a sensor looks is for `defs`.
"""
