"""The road as running queries: the plan, the runner, its progress."""
