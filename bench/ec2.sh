#!/bin/sh
# The paper's EC2 experiment, live beside simulated: 10 frontends, 3 masters and
# 120 one-slot node monitors, a process for each, in real time, loads 50, 70 and
# 90 %. Writes to the folder given: for each load the results (.jsonl), the table
# (.md) and the figure (.svg, .png), and README.md with all tables.
#
#   bench/ec2.sh bin/pigeon-bench TRACES OUT [RUNS [flags of pigeon-bench replay]]
#
# TRACES holds ngo_50.tr, ngo_70.tr and ngo_90.tr; where one is missing the
# generated workload that resembles it takes its place. A run lasts seven to ten
# minutes, all of it with three runs a load 75 to 90.
set -eu

bench=$1 traces=$2 out=$3 runs=${4:-3}
shift 3
[ $# -gt 0 ] && shift

mkdir -p "$out"
used=
for load in 50 70 90; do
	trace=$traces/ngo_$load.tr
	if [ ! -r "$trace" ]; then
		missing=$trace
		trace=gen:ec2,burst=true,load=0.$load
		echo "$missing is not there; $trace takes its place ('pigeon-bench trace fetch ngo_$load --dir $traces' fetches it)" >&2
		used="$used
- load $load %: $trace, which resembles the published trace: $missing is not there"
	else
		echo "load $load %: $trace" >&2
		used="$used
- load $load %: the published trace $trace"
	fi
	"$bench" replay --trace "$trace" --isolation process --runs "$runs" --compare-sim \
		--title "EC2 experiment, load $load %" --out "$out/load_$load" "$@"
done
{
	echo "# The EC2 experiment, live and simulated"
	echo
	echo "Workloads:$used"
	echo
	cat "$out"/load_50.md "$out"/load_70.md "$out"/load_90.md
} >"$out/README.md"
echo "written: $out/README.md, and load_*.jsonl, .svg, .png beside it"
