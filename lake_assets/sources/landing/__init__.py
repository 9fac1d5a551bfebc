"""Rows that land in a Delta table beside bronze before bronze has them, for sources of that kind.

A commit has rows with the next offsets and how far the reading then is: there are both or neither.
What is read, and by what a position tells it, is each source's own.
"""
