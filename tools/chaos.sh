#!/bin/sh
# chaos.sh PIGEON-BENCH FOLDER PAGE: runs clusters of processes under faults, for every policy of
# POLICIES and seed of SEEDS, MINUTES each at RATE faults a second, and writes PAGE from the
# results. Results that FOLDER has are kept and not run again, so an interrupted programme
# continues. The status is 1 when a run found a contradiction.
#
# BESIDE=COMMIT gives every second daemon of each role the program of that commit (version
# skew), BINARY=COMMIT all of them (the negative control: 996ffc3 is the version before the
# work on attempt identity, which the checks must catch); BESIDE=last or BINARY=last is the
# last tag. STANDBYS=1 gives masters and frontends standbys, and the cluster three NATS servers.
# SPARK=N has N Spark applications in the mix.
set -eu

bench=$1 folder=$2 page=$3
mkdir -p "$folder"

# built COMMIT: the path of its program.
built() {
	commit=$1
	if [ "$commit" = last ]; then
		commit=$(git describe --tags --abbrev=0 2> /dev/null) || {
			echo "there is no tag yet; name a commit instead of 'last'" >&2
			return 1
		}
	fi
	hash=$(git rev-parse --short --verify --quiet "$commit^{commit}") || {
		echo "'$commit' is no commit of this repository" >&2
		return 1
	}
	program=$PWD/$folder/pigeon-$hash
	if [ ! -x "$program" ]; then
		source=$(mktemp -d)
		status=0
		{ git archive "$hash" | tar -x -C "$source" && (cd "$source" && CGO_ENABLED=0 "${GO:-go}" build -o "$program" ./cmd/pigeon) 1>&2; } || status=$?
		rm -rf "$source"
		[ $status = 0 ] || return $status
	fi
	echo "$program"
}

set --
suffix=
if [ -n "${BESIDE:-}" ]; then
	program=$(built "$BESIDE")
	set -- "$@" --beside "$program"
	suffix=-beside-${program##*-}
fi
if [ -n "${BINARY:-}" ]; then
	program=$(built "$BINARY")
	set -- "$@" --binary "$program"
	suffix=$suffix-of-${program##*-}
fi
if [ -n "${STANDBYS:-}" ]; then
	set -- "$@" --standbys
	suffix=$suffix-standbys
fi
if [ -n "${SPARK:-}" ]; then
	set -- "$@" --spark "$SPARK"
	suffix=$suffix-spark
fi
if [ -n "${KINDS:-}" ]; then set -- "$@" --kinds "$KINDS"; fi
failed=
for seed in $SEEDS; do
	for policy in $POLICIES; do
		name=$policy-$seed$suffix
		result=$folder/$name.json
		if [ -s "$result" ]; then continue; fi
		printf '%s: %s, seed %s\n' "$(date +%T)" "$policy" "$seed"
		rm -rf "${folder:?}/$name" # of a run that was interrupted
		status=0
		"$bench" chaos --policy "$policy" --seed "$seed" --minutes "$MINUTES" --rate "$RATE" --data "$folder/$name" "$@" -o json \
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
"$bench" chaos "$@" > "$folder/page.md"
mv "$folder/page.md" "$page"
if [ -n "$failed" ]; then
	echo "contradictions were found:$failed; logs and histories are kept in $folder" >&2
	exit 1
fi
