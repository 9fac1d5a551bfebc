"""Ways out, a folder a kind: rows of a feed's tables, delivered at least once.

Here are following the tables, shaping rows, and what is recorded of deliveries; how one kind is
called is its folder's, behind `base`. When sinks run is `streams`'.
"""
