#!/bin/sh
# Takes what Dagster reads from the environment alone from the file that it is in, and goes on.
set -eu
if [ -n "${DAGSTER_POSTGRES_PASSWORD_FILE:-}" ]; then
    # Editors of Windows end a line with a character more, which no password has.
    DAGSTER_POSTGRES_PASSWORD=$(tr -d '\r' < "$DAGSTER_POSTGRES_PASSWORD_FILE")
    if [ -z "$DAGSTER_POSTGRES_PASSWORD" ]; then
        echo "error: DAGSTER_POSTGRES_PASSWORD_FILE: $DAGSTER_POSTGRES_PASSWORD_FILE is empty. Write the password into it" >&2
        exit 1
    fi
    export DAGSTER_POSTGRES_PASSWORD
fi
# Spark on Kubernetes starts an executor's container with this one word.
[ "${1:-}" != executor ] || exec spark-executor.sh
exec "$@"
