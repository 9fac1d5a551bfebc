"""Dataset checks over whole tables of silver and gold: measured together, evaluated one by one.

Expectations, which are about single rows, are `silver`'s, and of views `gold`'s.
"""
