#!/bin/sh
# A code server whose runs end with it. Told to end, Dagster's own refuses new runs and waits for
# those there are, whom nobody tells: streams would be killed at the end of the grace period.
set -eu
# What a shell starts beside itself ignores SIGINT, and Dagster does at SIGTERM what it does at that.
env --default-signal=INT "$@" &
server=$!
end() {
    # Its children: runs, which finish the batch in hand; Python's resource tracker does not listen.
    pkill -TERM -P "$server" || true
    kill -TERM "$server" || true
}
trap end TERM INT
# A signal ends `wait`, too, while the server still runs.
while kill -0 "$server" 2>/dev/null; do
    wait "$server" && code=0 || code=$?
done
exit "$code"
