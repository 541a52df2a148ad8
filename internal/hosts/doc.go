// Package hosts reads a host inventory, the YAML file that names the hosts of a cluster, the
// daemons that each of them runs, and how they are reached ('pigeon cluster plan', docs/deploy.md). It
// checks the whole file and names the host and the line of each mistake; it opens no connection.
package hosts
