"""Silver: decoded rows, routed to one append-only table a key, or to quarantine with a reason.

Decoding is `formats`', and following bronze batch by batch is `streams`'.
"""
