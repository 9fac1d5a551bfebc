"""Payload formats: values to typed columns. A folder each, behind the contract in `base`."""
