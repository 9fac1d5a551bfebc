#!/bin/sh
# Takes what Dagster reads from the environment alone from the file that it is in, and goes on.
set -eu
if [ -n "${DAGSTER_POSTGRES_PASSWORD_FILE:-}" ]; then
    DAGSTER_POSTGRES_PASSWORD=$(cat "$DAGSTER_POSTGRES_PASSWORD_FILE")
    export DAGSTER_POSTGRES_PASSWORD
fi
# Spark on Kubernetes starts an executor's container with this one word.
[ "${1:-}" != executor ] || exec spark-executor.sh
exec "$@"
