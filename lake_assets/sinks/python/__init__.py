"""Classes of the user's that get rows, each in a process of its own: the protocol, both its ends.

Which rows they get, and what is recorded of them, is not known here.
"""
