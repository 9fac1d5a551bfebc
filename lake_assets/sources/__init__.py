"""Ways into the lake: rows as they came and where they came from, a folder a kind of source.

`base` is the contract, `catalog` knows which there are. Rows are written by `bronze`, and nothing
inside a payload is read here.
"""
