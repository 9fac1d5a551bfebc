#!/usr/bin/env bash
# Makes `lake.tar.xz` with the release that is in this clone: a small lake of two feeds that read
# files, its state and a backup. Run it in a clone of the release that is about to be replaced:
#
#     lake_assets_tests/e2e/last_release/make.sh lake-assets /tmp/new.tar.xz
#
# The first argument is that release's `lake-assets`, the second the archive to write.
set -euo pipefail

program=$1 archive=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

mkdir "$data/feeds" "$data/plays" "$data/accounts"
for feed in "$here"/feeds/*.yaml; do
    sed "s|/data/|$data/|" "$feed" > "$data/feeds/$(basename "$feed")"
done
export LAKE_ASSETS_HOME="$data/home" LAKE_ASSETS_LAKE="$data/lake" LAKE_ASSETS_FEEDS="$data/feeds"

send() { # a file of rows of a feed
    cp "$here/rows/$1-$2.jsonl" "$data/$1/"
    touch -d 2026-11-20T16:00:00Z "$data/$1/$1-$2.jsonl" # whole seconds, as the archive has them
}

send plays 1
send accounts 1
"$program" stream --until-caught-up
"$program" refresh
send plays 2
send accounts 2
"$program" stream --until-caught-up
"$program" refresh
"$program" erase --column player --value gone --yes # which 0.1.0 at 1d4b0245 did not ask for
"$program" maintain
"$program" backup "$data/backup"
send plays 3 # in silver, and in no view yet
"$program" stream --until-caught-up

tar --sort=name --owner=0 --group=0 --numeric-owner -C "$data" -cJf "$archive" lake backup plays accounts
