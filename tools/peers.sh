#!/bin/sh
# Installs the peers of 'pigeon-bench reuther' that Debian has, as far as they are missing, and
# leaves none of their services running. Without root or apt-get it says what to install; what is
# missing is then left out of the measurement.
set -eu

missing=
want() { # PROGRAM PACKAGES
	[ -x "$1" ] || command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
# moreutils has another program of this name.
parallel --version 2>/dev/null | grep -q '^GNU' || missing="$missing parallel"
want redis-server redis-server
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || want postgres postgresql
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "Some peers are not installed; as root: apt-get install --no-install-recommends$missing" >&2
	exit 0
fi
# A package starts its service when it is installed, unless this file forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	trap 'exit 1' INT TERM
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
fi
# What is installed is not upgraded, so that running services are left alone.
apt-get update -q
# shellcheck disable=SC2086 # a list of packages
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends --no-upgrade $missing
