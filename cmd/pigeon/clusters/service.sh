#!/bin/sh
# Starts, stops and shows the daemons of a host without a service manager: a loop in the background
# starts each of them again when it ends. Nothing starts them with the machine.
# Made by 'pigeon cluster plan'. Use: pigeon-service start|stop|restart|reload|pid|ended|log NAME
set -u
program=@program@ self=@service@ etc=@etc@ run=@run@ logs=@logs@
umask 077
verb=${1:?start, stop, restart, reload, pid, ended or log} name=${2:?frontend, master, nodemonitor or nats}
pidfile=$run/$name.pid loopfile=$run/$name.loop stopfile=$run/$name.stop

# The system gives the number of a process that ended to another one, after a restart of the machine
# to any: only the program in this folder is a daemon, and only this script its loop.
folder=$(readlink -f "$program") folder=${folder%/*}

# word TEXT: TEXT is one of the words with which the process was started.
word() { tr '\0' '\n' 2>/dev/null <"/proc/$number/cmdline" | grep -qxF -e "$1"; }

# alive FILE: the process whose number is in FILE runs, and is one of this daemon.
alive() {
	number=$(cat "$1" 2>/dev/null) && [ -n "$number" ] && [ -r "/proc/$number/cmdline" ] || return 1
	if [ "$1" = "$loopfile" ]; then
		word "$self" || return 1
	else
		case $(readlink "/proc/$number/exe" 2>/dev/null) in "${folder:-none}"/*) ;; *) return 1 ;; esac
	fi
	word "$name"
}

start() {
	alive "$loopfile" && return 0
	mkdir -p "$run" "$logs"
	rm -f "$stopfile"
	setsid sh "$self" loop "$name" </dev/null >/dev/null 2>&1 &
	echo $! >"$loopfile"
}

# stop asks once: a second SIGTERM ends the wait of a node monitor for what runs.
stop() {
	alive "$loopfile" || alive "$pidfile" || return 0
	: >"$stopfile"
	told= waited=0
	while alive "$loopfile" || alive "$pidfile"; do
		if alive "$pidfile" && [ "$number" != "$told" ]; then
			kill -TERM "$number" && told=$number
		fi
		waited=$((waited + 1))
		[ "$waited" -lt 900 ] || { alive "$pidfile" && kill -KILL "$number"; }
		sleep 0.1
	done
	rm -f "$stopfile" "$pidfile" "$loopfile"
}

case $verb in
start) start ;;
stop) stop ;;
restart) stop && start ;;
reload) ! alive "$pidfile" || kill -USR2 "$number" ;;
pid) ! alive "$pidfile" || echo "$number" ;;
ended) ! alive "$loopfile" && sleep 0.1 && ! alive "$loopfile" ;; # for good; a loop that is just being started has no words for an instant
log) tail -n 5 "$logs/$name.log" 2>/dev/null ;;
loop)
	while [ ! -e "$stopfile" ]; do
		"$program" "$name" --config "$etc/$name.yaml" >>"$logs/$name.log" 2>&1 </dev/null &
		child=$!
		echo "$child" >"$pidfile"
		wait "$child"
		[ $? -ne 2 ] || break # a mistake in the settings, which no restart mends
		[ -e "$stopfile" ] || sleep 0.3
	done
	rm -f "$pidfile"
	;;
*) echo "pigeon-service: $verb is none of start, stop, restart, reload, pid, ended, log" >&2; exit 2 ;;
esac
