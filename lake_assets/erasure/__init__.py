"""Erasures: whose rows go, that they are gone from everything of the lake, and the proof of it.

What an erasure is, is `model.erasures`'; the ledger that streams obey is `state.erasure_ledger`'s.
How a table's history ends is `delta.history_end`'s.
"""
