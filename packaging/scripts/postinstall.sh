#!/bin/sh
# After the files of the package are in place: dpkg calls it with "configure", rpm with the number of
# installed versions. It starts nothing: which daemons a host has is its owner's decision.
set -e

case ${1:-} in
configure | 1 | 2) ;;
*) exit 0 ;;
esac

if ! getent passwd pigeon >/dev/null; then
	if command -v systemd-sysusers >/dev/null; then
		systemd-sysusers pigeon.conf
	elif command -v useradd >/dev/null; then
		getent group pigeon >/dev/null || groupadd --system pigeon
		useradd --system --gid pigeon --home-dir /var/lib/pigeon --no-create-home --shell /usr/sbin/nologin --comment "Pigeon scheduler" pigeon
	else
		echo "pigeon: make a system user pigeon; neither systemd-sysusers nor useradd is here" >&2
	fi
fi

# What tmpfiles.d/pigeon.conf says, also where systemd-tmpfiles is not.
mkdir -p /etc/pigeon /var/lib/pigeon
chmod 0755 /etc/pigeon /var/lib/pigeon
if getent group pigeon >/dev/null; then
	for file in /etc/pigeon/frontend*.yaml /etc/pigeon/master*.yaml /etc/pigeon/nats*.yaml; do
		[ ! -f "$file" ] || { chgrp pigeon "$file" && chmod 0640 "$file"; }
	done
fi

# A drop-in that systemd knows from 254 on.
dropin=/etc/systemd/system/pigeon-node.service.d/subgroup.conf
systemd=$(systemctl --version 2>/dev/null | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
if [ "${systemd:-0}" -ge 254 ]; then
	mkdir -p "${dropin%/*}"
	ln -sf /usr/share/pigeon/systemd-254/pigeon-node-subgroup.conf "$dropin"
else
	rm -f "$dropin"
fi

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
	if [ "$1" = 2 ] || [ -n "${2:-}" ]; then
		echo "pigeon: the daemons of this host go on with the version before; restart them in the order of docs/operations.md (Upgrades and versions)"
	fi
fi
