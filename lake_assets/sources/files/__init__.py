"""Files of a folder as a source: how they are found, numbered, cut into rows, read and cleaned up.

What is in a row is `formats`'. Docs: `docs/decisions/0077-files-are-one-place.md`.
"""
