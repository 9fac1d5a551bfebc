"""Frozen nouns: feeds, tables, endpoints, reports.

Nothing here runs an engine, reads a file or asks a clock.
"""
