"""Tables of a database that rows are written to: statements, types, errors told apart.

Which rows are written, and what is recorded of them, is not known here.
"""
