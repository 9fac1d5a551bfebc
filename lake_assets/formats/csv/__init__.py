"""CSV with a declared schema: one record a value, columns by position.

Splitting a record is Python's csv module's and Arrow's; the declaration itself is `model.ddl`'s and
`model.payload`'s.
"""
