"""What must be on the machine before Spark runs: a Java and the jars."""
