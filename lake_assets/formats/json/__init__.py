"""JSON objects with a declared schema: three readers, and what becomes of what fits no column.

Reading the declaration itself is for `model.ddl` and `model.payload`.
"""
