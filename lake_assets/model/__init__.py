"""Frozen nouns: feeds, tables, endpoints, reports. Nothing runs an engine or reads a file."""
