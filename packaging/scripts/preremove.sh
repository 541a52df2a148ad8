#!/bin/sh
# Before the files of the package go: dpkg calls it with "remove" or "upgrade", rpm with the number of
# versions that stay. Daemons are stopped when the package goes for good, nodes first, so that they
# hand over their last results.
set -e

case ${1:-} in
remove | 0) ;;
*) exit 0 ;;
esac

if [ -d /run/systemd/system ]; then
	systemctl disable --now pigeon-node.service 2>/dev/null || :
	systemctl disable --now pigeon-frontend.service pigeon-master.service 2>/dev/null || :
	systemctl stop 'pigeon-frontend@*.service' 'pigeon-master@*.service' 2>/dev/null || :
	systemctl disable pigeon-frontend@.service pigeon-master@.service 2>/dev/null || :
	systemctl disable --now pigeon-nats.service 2>/dev/null || :
fi
