#!/bin/sh
# A worker in shell: asks a study for one pull after another over HTTP, and tells it what came out.
#
#     MFBANDIT_TOKEN=... sh worker.sh http://127.0.0.1:8321/ my%20study [HOW_MANY]
#
# It needs curl. Names with quotes in them are better read by jq than by sed.
study="${1}api/studies/$2" most="${3:-1000000}"

post() { # WHAT JSON
    # The token goes in by a file, so that nobody sees it among the arguments of processes.
    printf 'header = "Authorization: Bearer %s"\n' "$MFBANDIT_TOKEN" |
        curl --silent --show-error --config - --data "$2" "$study/$1"
}

while [ "$most" -gt 0 ]; do
    answer=$(post ask '{"lease_seconds": 60}') || exit 1
    id=$(printf '%s' "$answer" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    arm=$(printf '%s' "$answer" | sed -n 's/.*"arm":"\([^"]*\)".*/\1/p')
    if [ -z "$id" ]; then
        case "$answer" in
        *'"status":"running"'*) sleep 0.2 && continue ;; # others have what is missing
        *) echo "$answer" && break ;;
        esac
    fi
    # Your evaluation.
    if [ "$arm" = good ]; then reward=1; else reward=0; fi
    post tell "{\"pull\": $id, \"reward\": $reward}" >/dev/null || exit 1
    most=$((most - 1))
done
