#!/bin/sh
# The Python of Spark's workers, with PySpark as it is installed: `$PYSPARK_WORKER_PYTHON`, or where
# that is not set the one of the package that this is in (`runtime.python_package`).
#
# Spark has its Pythons import PySpark from an archive, first of all on their path. From there each
# process compiles anew what it imports, which costs a second.
if [ -z "${PYSPARK_WORKER_PYTHON-}" ]; then
  package=$(cd "$(dirname "$0")/.." && pwd) || exit 1
  PYSPARK_WORKER_PYTHON=$package/bin/python3
  export LD_LIBRARY_PATH="$package/lib${LD_LIBRARY_PATH:+:}${LD_LIBRARY_PATH-}"
  # What this machine has of its own is none of the package's business.
  export PYTHONNOUSERSITE=1
  unset PYTHONHOME
fi
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
