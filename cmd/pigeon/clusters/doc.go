// Package clusters plans the cluster of a host inventory:
//
//	inventory.yaml ──Make──▶ plan ──Write──▶ a folder: each host's files ──Ansible──▶ the hosts
//
// A plan has for each host the settings of its daemons, their certificates, what starts them (units of
// systemd, or a script where there is no service manager), and a manifest, the list of these; and the
// inventory with which the Ansible role in deploy/ansible brings them to the hosts. The same inventory
// makes the same files, byte for byte; certificates are kept while they hold.
package clusters
