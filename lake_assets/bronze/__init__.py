"""Bronze: rows of a source kept as they came, with their origin, and where ingest goes on.

Nothing inside a payload is read here: that is `decode`'s. Reading the source is `sources`'.
"""
