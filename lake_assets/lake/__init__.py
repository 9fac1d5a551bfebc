"""Ground floor: Spark session, commit door, fan-out, log history, managed state of the streams."""
