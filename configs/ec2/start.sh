#!/bin/sh
# Starts the paper's EC2 cluster on this machine, one process for each daemon:
# NATS, 3 masters, 10 frontends and 120 nodes of one slot. Data and logs go to
# pigeon-data/ below the current folder. Ctrl-C ends it. PIGEON names the program,
# POLICY the scheduling policy (pigeon): those without groups have one master.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../daemons.sh"

policy=${POLICY:-pigeon}
masters=127.0.0.1:20702,127.0.0.1:20712,127.0.0.1:20722 groups="0 1 2"
case ${policy%%:*} in
pigeon*) ;;
*) masters=127.0.0.1:20702 groups=0 ;;
esac
start nats nats && others="$others $last"
for g in $groups; do
	start master-$g master --config "$here/master.yaml" --policy "$policy" --masters $masters --group $g --listen 127.0.0.1:207${g}2
	others="$others $last"
done
frontends=
for i in 0 1 2 3 4 5 6 7 8 9; do
	start frontend-$i frontend --config "$here/frontend.yaml" --policy "$policy" --masters $masters --id frontend-$i --data pigeon-data/frontend-$i \
		--listen 127.0.0.1:208${i}3 --internal-listen 127.0.0.1:208${i}4
	others="$others $last" frontends="$frontends,127.0.0.1:208${i}3"
done
for g in 0 1 2; do
	of=$g
	[ "$groups" != 0 ] || of=0
	n=1
	while [ $n -le 40 ]; do
		start node-$g-$n nodemonitor --config "$here/nodemonitor.yaml" --policy "$policy" --id node-$g-$n --group $of --master 127.0.0.1:207${of}2 \
			--listen 127.0.$((g + 1)).$n:20501 --internal-listen 127.0.$((g + 1)).$n:20506 --http '' --work-dir pigeon-data/node-$g-$n
		nodes="$nodes $last" n=$((n + 1))
	done
done
echo "try: $pigeon submit --frontend ${frontends#,} --sleep 1s --tasks 200 --wait"
wait
