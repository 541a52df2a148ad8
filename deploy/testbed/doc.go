// Command testbed builds hosts as network namespaces of this machine, each with its own address,
// hostname, folders (/etc, /var, /opt, /run) and sshd, and a delay on its network. There the Ansible role
// of deploy/ansible installs a cluster from nothing, changes nothing the second time, upgrades it under
// load, replaces a host and removes it all; or, with -trace, the cluster of the paper's experiment, on
// which 'pigeon-bench replay' replays the trace. It prints how long each step took and ends with status 1
// when anything was lost or left:
//
//	cd deploy && go run ./testbed -program ../bin/pigeon -playbook ansible-playbook -hosts 24
//
// It needs root and the right to make namespaces (ip netns, unshare, overlay mounts), sshd and
// ansible-playbook; without one of them it reports that and ends with status 0, or 1 with -must.
package main
