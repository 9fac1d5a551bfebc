"""Erasing a person's rows from a lake, and proving that nothing of them is left.

What an erasure is, is `model.erasures`'; the ledger that streams obey is `state.erasure_ledger`'s.
How rows leave one table, and how its history ends, is `delta`'s.
"""
