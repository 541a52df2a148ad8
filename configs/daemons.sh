# Read by the scripts that start a cluster of processes: starts daemons in the
# background, and stops them when the script ends. Data go to pigeon-data/ below the
# current folder, logs to pigeon-data/logs/, and so do the lines of daemons that are
# ready, unless $ready names another file.
# shellcheck shell=sh disable=SC2034 # last is for the scripts
pigeon=${PIGEON:-pigeon}
command -v "$pigeon" >/dev/null || { echo "start.sh: there is no program '$pigeon'; run 'make build' and set PIGEON=bin/pigeon" >&2; exit 2; }
mkdir -p pigeon-data/logs

nodes= others=
stop() { # nodes first: they hand their last results over
	trap - EXIT INT TERM HUP
	for pids in "$nodes" "$others"; do
		# shellcheck disable=SC2086 # a list of numbers
		[ -z "$pids" ] || { kill $pids 2>/dev/null || :; wait $pids 2>/dev/null || :; }
	done
}
trap stop EXIT
trap 'exit 0' INT TERM HUP

start() { # NAME VERB FLAGS...
	name=$1
	shift
	# In another session: a Ctrl-C reaches stop alone, which ends the nodes first.
	setsid "$pigeon" "$@" >>"${ready:-pigeon-data/logs/$name.log}" 2>>"pigeon-data/logs/$name.log" &
	last=$!
}
