#!/bin/sh
# The Python of Spark's workers: `$PYSPARK_WORKER_PYTHON`, with PySpark as it is installed.
#
# Spark has its Pythons import PySpark from an archive, first of all on their path. From there each
# process compiles anew what it imports, which costs a second.
set -f
IFS=:
path=
for place in ${PYTHONPATH-}; do
  case $place in
    */pyspark.zip | */py4j-*-src.zip) ;;
    *) path=$path${path:+:}$place ;;
  esac
done
if [ -n "$path" ]; then
  export PYTHONPATH="$path"
else
  unset PYTHONPATH
fi
unset IFS
exec "$PYSPARK_WORKER_PYTHON" "$@"
