"""Catalogues of others, in which the lake's tables are registered: names, columns, places, lineage.

`wanted` tells what should be there, `plan` decides by what is, and `sync` acts; a module a kind of
catalogue speaks its protocol. What Dagster shows of the tables is `defs`'.
"""
