"""The pipeline as running queries: the plan, the runner, its progress."""
