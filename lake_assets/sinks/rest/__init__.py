"""HTTP APIs that rows are POSTed to: connecting, authorizing, retrying, pacing.

Which rows are sent, and what is recorded of them, is not known here.
"""
