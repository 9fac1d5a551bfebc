"""The pipeline as running queries: how a feed's rows get from its source to silver.

Also what runs beside them: waiting rows, requeue and rebuild, refresh, lag, trace. What happens to
the rows of one batch is `bronze`'s and `silver`'s; restarts are `supervision`'s.
"""
