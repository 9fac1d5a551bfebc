"""Delta tables: the log, its one committer, and what may be done to a table's files.

Spark is not started here and computes nothing; jobs over the files are `spark`'s.
"""
