"""Upkeep of a lake's tables: small files joined, unused files and old rows deleted, logs short.

Here: what is done about which table (`policy`, pure), what holds it back (`holds`), which rows are
too old (`retention`, pure; `old_rows`), and doing it (`run`). Not here: how files are joined,
deleted and logs shortened (`delta`), when a run begins (`defs.maintenance`, `cli.maintain`), and
the lake's own log tables, which the streams keep up (`logs`).
"""
