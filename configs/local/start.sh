#!/bin/sh
# Starts the local cluster of this folder: NATS, two masters, four nodes and two
# frontends, one process each. Data go to pigeon-data/ below the current folder,
# logs to pigeon-data/logs/. Ctrl-C ends it. PIGEON names the program, POLICY the
# scheduling policy (pigeon-x): those without groups have one master.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ready=/dev/stdout
. "$here/../daemons.sh"

policy=${POLICY:-pigeon-x}
masters=127.0.0.1:20502,127.0.0.1:20512 groups="0 1" together=
case ${policy%%:*} in
pigeon*) ;;
*) masters=127.0.0.1:20502 groups=0 together="--group 0 --master 127.0.0.1:20502" ;;
esac
start nats nats && others="$others $last"
for i in $groups; do start master-$i master --config "$here/master-$i.yaml" --policy "$policy" --masters $masters && others="$others $last"; done
for i in 0 1; do start frontend-$i frontend --config "$here/frontend-$i.yaml" --policy "$policy" --masters $masters && others="$others $last"; done
for i in 0 1 2 3; do
	# shellcheck disable=SC2086 # flags, or none
	start node-$i nodemonitor --config "$here/node-$i.yaml" --policy "$policy" $together && nodes="$nodes $last"
done
echo "try: $pigeon run --config $here/client.yaml -- echo hello"
wait
