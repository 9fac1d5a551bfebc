"""Whether feeds fit what they read, told before anything starts.

Every SQL text and every name of a column against the columns that silver will have: quickly, with
places in the file, and by Spark's analyser. What a feed may declare at all is `model`'s and
`feeds`'; what the streams make of it, once they run, is `silver`'s and `gold`'s.
"""
