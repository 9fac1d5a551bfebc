"""Options of an object store's client that change nothing of what Spark reads, whichever the store.

They say how patient deltalake and obstore are, and how they connect; Spark has a client of its own.
"""

CLIENT_OPTIONS = frozenset(
    {
        "allow_http",  # an endpoint's address says whether TLS is used
        "connect_timeout",
        "default_content_type",
        "disable_tagging",
        "http1_only",
        "http2_keep_alive_interval",
        "http2_keep_alive_timeout",
        "http2_keep_alive_while_idle",
        "http2_only",
        "max_retries",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "randomize_addresses",
        "read_timeout",
        "retry_timeout",
        "timeout",
        "user_agent",
    }
)
