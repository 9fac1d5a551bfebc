"""Ways into the lake: DataFrames of raw rows and where they came from."""
