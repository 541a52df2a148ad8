// Command testbed builds hosts as network namespaces of this machine, each with its own address,
// hostname, folders (/etc, /var, /opt, /run) and sshd, and a delay on its network, and makes
// 'pigeon cluster' install a cluster there from nothing, run jobs, upgrade it under load, replace
// a host and remove it all, and then 'pigeon-bench replay --hosts' replay jobs on a cluster that is
// there for as long as that takes (alone with -replay). It prints how long each step took and ends
// with status 1 when anything was lost or left:
//
//	go run ./bench/testbed -program bin/pigeon -hosts 24
//
// It needs root and the right to make namespaces (ip netns, unshare, overlay mounts), and sshd;
// without one of them it reports that and ends with status 0, or 1 with -must.
package main
