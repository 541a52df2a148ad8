#!/bin/sh
# chaos.sh PIGEON FOLDER PAGE: runs clusters of processes under faults, for every policy of
# POLICIES and seed of SEEDS, MINUTES each at RATE faults a second, and writes PAGE from the
# results. Results that FOLDER has are kept and not run again, so an interrupted programme
# continues. The status is 1 when a run found a contradiction.
set -eu

pigeon=$1 folder=$2 page=$3
mkdir -p "$folder"
failed=
for seed in $SEEDS; do
	for policy in $POLICIES; do
		name=$policy-$seed
		result=$folder/$name.json
		if [ -s "$result" ]; then continue; fi
		printf '%s: %s, seed %s\n' "$(date +%T)" "$policy" "$seed"
		rm -rf "${folder:?}/$name" # of a run that was interrupted
		status=0
		"$pigeon" bench chaos --policy "$policy" --seed "$seed" --minutes "$MINUTES" --rate "$RATE" --data "$folder/$name" -o json \
			> "$result.tmp" 2> "$folder/$name.log" || status=$?
		case $status in
		0) rm -rf "${folder:?}/$name" ;;
		1) failed="$failed $name" ;;
		esac
		if [ ! -s "$result.tmp" ]; then
			echo "the run itself failed; its log is $folder/$name.log" >&2
			tail -3 "$folder/$name.log" >&2
			exit 1
		fi
		mv "$result.tmp" "$result"
	done
done
set --
for result in "$folder"/*.json; do set -- "$@" --report "$result"; done
"$pigeon" bench chaos "$@" --bugs docs/reliability-bugs.md > "$folder/page.md"
mv "$folder/page.md" "$page"
if [ -n "$failed" ]; then
	echo "contradictions were found:$failed; logs and histories are kept in $folder" >&2
	exit 1
fi
