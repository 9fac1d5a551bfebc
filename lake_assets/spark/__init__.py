"""Spark: the session, its Python workers, jobs that write into many tables and read from many.

Spark reads and computes, and never commits: that is `delta.committer`'s.
"""
