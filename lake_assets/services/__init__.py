"""The embedded Kafka broker and schema registry: real servers as child processes."""
