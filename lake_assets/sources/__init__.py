"""Ways into the lake: DataFrames of raw rows and where they came from.

Also short questions to a broker, and why it refuses. Rows are written by `bronze`, and nothing
inside a payload is read here.
"""
