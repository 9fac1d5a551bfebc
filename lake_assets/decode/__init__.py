"""From framed bytes to typed columns: registry, schemas, and decoding with Arrow.

Tables are not written here, and which table a row goes to is `silver`'s.
"""
