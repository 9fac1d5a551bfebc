"""What a user may set: groups of frozen fields. `load` alone reads the environment."""
