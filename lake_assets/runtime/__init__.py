"""What must be on the machine before Spark runs: a Java, the jars, an archive of classes.

Also protoc, how processes are known again, small files replaced, and numbers as varints. Starting a
session is `spark`'s.
"""
