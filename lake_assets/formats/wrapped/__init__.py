"""Envelopes: values of one format in whose bytes another message is, of the same format or another.

Each of the two is decoded by its own format; here is what makes one answer of both.
"""
