// Package clusters installs a cluster on the hosts of a host inventory, over ssh:
//
//	inventory.yaml ──Make──▶ plan ──Write──▶ a folder: each host's files ──Apply──▶ the hosts
//
// A plan has for each host the settings of its daemons, their certificates, and what starts them:
// units of systemd, or a script where there is no service manager. The same inventory makes the
// same files, byte for byte; certificates are kept while they hold. Apply compares what a host has
// with its plan, sends what differs, and starts or restarts the daemons that it concerns, role by
// role (hosts.Roles): those that do not run all at once, those that run one after another, each
// until it is ready. Completed steps stay, so a command that failed is repeated.
package clusters
