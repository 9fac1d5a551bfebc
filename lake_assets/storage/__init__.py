"""Where a lake's tables, files and logs lie, and how one file of them is read, put and listed.

`store` has the contract, `local` and `objects` what keeps it, `open_store` which of them a place
has; places are `model.lake_uri`'s. What a log or a data file says is `delta`'s and `parquet`'s;
what a lake's writers keep beside the tables is `state`'s, on a local or mounted volume always.
"""
