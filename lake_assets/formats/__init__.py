"""Payload formats: values to typed columns. A folder each, behind the contract in `base`.

Tables are not written here, and which table a row goes to is `silver`'s.
"""
