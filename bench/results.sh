#!/bin/sh
# Everything that bench/results/simulated.md is made from, simulated: all policies on all
# traces and loads. Three quarters of an hour on two processors; a comparison whose folder is
# complete is not made again.
#
#   bench/results.sh bin/pigeon-bench TRACES OUT
#
# TRACES holds ngo_50.tr, ngo_70.tr, ngo_90.tr, nyh_70.tr, exp_50.tr and goog_sub.tr.
set -eu

bench=$1 traces=$2 out=$3

for trace in ngo_50 ngo_70 ngo_90 nyh_70 exp_50 goog_sub; do
	[ -r "$traces/$trace.tr" ] || { echo "$traces/$trace.tr is not there: nothing was run; name the folder of the traces by TRACES=" >&2; exit 2; }
done

# compare NAME FLAGS...
compare() {
	name=$1
	shift
	if [ -s "$out/$name/report.md" ]; then
		echo "$out/$name is there already" >&2
		return
	fi
	began=$(date +%s)
	"$bench" compare --out "$out/$name" "$@" >/dev/null
	echo "$name took $(($(date +%s) - began)) s" >&2
}

mkdir -p "$out"
# The files as they are; ngo at its three loads is the paper's figure 8.
compare files --traces "$traces/ngo_50.tr,$traces/ngo_70.tr,$traces/ngo_90.tr,$traces/nyh_70.tr,$traces/exp_50.tr" --seeds 11
# Steady: jobs drawn with Poisson arrivals.
compare steady-ngo --traces "$traces/ngo_90.tr" --resample 20000 --loads 0.7,0.9,0.95 --seeds 7
compare steady-nyh --traces "$traces/nyh_70.tr" --resample 8000 --loads 0.9 --seeds 5
compare steady-exp --traces "$traces/exp_50.tr" --resample 8000 --loads 0.9 --seeds 5
compare google --traces "$traces/goog_sub.tr" --workers 5000 --groups 50 --cutoff 1129.532s --loads 0.5,0.7,0.9 --seeds 3
# What is ours, with its options: more loads and seeds.
ours=pigeon,pigeon-sort,pigeon-sort:aging=0,pigeon-sort:guard=yes,pigeon-x,pigeon-x:aging=0,pigeon-x:aging=3
compare options-ngo --policies $ours --traces "$traces/ngo_90.tr" --resample 20000 --loads 0.7,0.9,0.95 --seeds 15
compare options-nyh --policies $ours --traces "$traces/nyh_70.tr" --resample 8000 --loads 0.7,0.9,0.95 --seeds 7
# Groups of unequal size, and jobs that declare the wrong class.
compare uneven --policies pigeon,pigeon-sort,pigeon-x --group-sizes 60,40,20 --traces "$traces/ngo_90.tr" --resample 20000 --loads 0.9 --seeds 5
tried=pigeon,pigeon-sort,pigeon-x,pigeon-x:canary=no
compare mistakes --policies $tried --wrong-class 0.2 --traces "$traces/ngo_90.tr" --resample 20000 --loads 0.9 --seeds 15
compare mistakes-nyh --policies $tried --wrong-class 0.2 --traces "$traces/nyh_70.tr" --resample 8000 --loads 0.9 --seeds 7
# People: 20 owners, one of which floods, and the same without it. Half of the jobs, or all,
# declare nothing.
compare people-ngo --policies pigeon,pigeon-sort,pigeon-x,static:owners=20,sparrow,hawk,eagle,kairos --traces "$traces/ngo_90.tr" --resample 20000 --loads 0.9 --seeds 5 --owners 20,skew=1,flood=0.5,burst=1000
compare people-nyh --policies pigeon,pigeon-sort,pigeon-x,static:owners=20 --traces "$traces/nyh_70.tr" --resample 8000 --loads 0.9 --seeds 5 --owners 20,skew=1,flood=0.5,burst=1000
blind=pigeon,pigeon-x,kairos,peacock,eagle,hawk
compare undeclared --policies $blind --declared 0 --traces "$traces/ngo_90.tr" --resample 20000 --loads 0.9 --seeds 2
compare half-declared --policies $blind --declared 0.5 --wrong-class 0.2 --traces "$traces/ngo_90.tr" --resample 20000 --loads 0.9 --seeds 2

# The model beside simulation, with the paper's figures 3(a) and 3(b).
if ! [ -s "$out/model.md" ]; then
	"$bench" model --simulate 50000 --out "$out/model" >"$out/model.txt"
	{
		printf '## The queueing model beside simulation\n\n`pigeon-bench model --simulate 50000`, 30,000 workers, one seed; [what the columns are](../model/README.md).\n\n```\n'
		cat "$out/model.txt"
		"$bench" model --loads 0.808,0.909 >"$out/messages.txt"
		printf '```\n\nMessages add load that the formulas do not include: a worker of pigeon waits two message delays for its next task. With these delays the loads are 0.808 and 0.909:\n\n```\n'
		cat "$out/messages.txt"
		printf '```\n\n![Figure 3(a) of the paper: probability of service without queueing](simulated/figure3a.png)\n\n'
		printf '![Figure 3(b) of the paper: queueing time](simulated/figure3b.png)\n'
	} >"$out/model.md"
fi
