#!/bin/sh
# Makes docker/secrets/ with new passwords and keys for compose.yaml; what is there stays.
set -eu
folder=$(dirname "$0")/secrets
mkdir -p "$folder"
# Containers' users read the files; on this machine only the owner gets to them.
chmod 700 "$folder"
umask 022
random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
[ -s "$folder/postgres_password" ] || random 24 > "$folder/postgres_password"
if [ ! -s "$folder/storage_options.json" ]; then
    id=$(random 10)
    key=$(random 20)
    printf '{"identities": [{"name": "lake", "credentials": [{"accessKey": "%s", "secretKey": "%s"}], "actions": ["Read:lake", "Write:lake", "List:lake", "Tagging:lake"]}]}\n' \
        "$id" "$key" > "$folder/s3_identities.json"
    printf '{"aws_endpoint_url": "http://s3:8333", "aws_allow_http": "true", "aws_region": "us-east-1", "aws_access_key_id": "%s", "aws_secret_access_key": "%s"}\n' \
        "$id" "$key" > "$folder/storage_options.json"
fi
