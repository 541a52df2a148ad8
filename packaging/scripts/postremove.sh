#!/bin/sh
# After the files of the package have gone. Journals, streams and certificates stay, since nothing else
# has them; dpkg's purge removes them.
set -e

case ${1:-} in
purge | remove | 0)
	rm -f /etc/systemd/system/pigeon-node.service.d/subgroup.conf
	rmdir /etc/systemd/system/pigeon-node.service.d 2>/dev/null || :
	;;
esac
[ ! -d /run/systemd/system ] || systemctl daemon-reload || :
case ${1:-} in
purge) rm -rf /var/lib/pigeon /var/log/pigeon /etc/pigeon ;;
remove | 0) [ ! -d /var/lib/pigeon ] || echo "pigeon: /var/lib/pigeon and /etc/pigeon are kept; remove them by hand when nobody needs their journals and keys" ;;
esac
