"""The Confluent schema registry and its framing, whatever language schemas are in."""
