"""What the streams tell of themselves while they run: metrics, health, and reading them again.

Streams feed it (`streams.watch`) and the command line shows it. What a batch leaves in tables is
`logs`', what the supervisor judges by is the heartbeat (`state`), and alerts are `alerts`'.
"""
