"""The rows that are appended to a Delta table, as a source.

What a commit added is in the table's log; which offsets its rows have is in the feed's index.
"""
