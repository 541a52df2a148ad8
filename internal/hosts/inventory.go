package hosts

import (
	"slices"
	"strconv"
)

// Role is a daemon that a host runs.
type Role string

// The roles, in the order in which their daemons are started and upgraded.
const (
	NATS     Role = "nats"
	Master   Role = "master"
	Frontend Role = "frontend"
	Node     Role = "node"
)

// Roles are all roles, in the order in which their daemons are started and upgraded.
var Roles = []Role{NATS, Master, Frontend, Node}

// Verb is the verb of the program that runs the daemon; it also names its configuration.
func (r Role) Verb() string {
	if r == Node {
		return "nodemonitor"
	}
	return string(r)
}

// What starts the daemons of a host.
const (
	Systemd   = "systemd"
	NoManager = "none" // a script with a file for each process's number
)

// How daemons know each other.
const (
	TLS      = "tls"      // certificates of an authority of the cluster's own
	Insecure = "insecure" // every caller that reaches a port may do everything
)

// Inventory is the content of the file, completed by the defaults and with its ranges of
// hosts written out.
type Inventory struct {
	Cluster        string   `yaml:"cluster"`         // name of the cluster; default pigeon
	Policy         string   `yaml:"policy"`          // of all daemons; default pigeon-x
	Security       string   `yaml:"security"`        // tls (the default) or insecure
	ServiceManager string   `yaml:"service_manager"` // of hosts that name none; default systemd
	Prefix         string   `yaml:"prefix"`          // folder before all paths on the hosts; default none
	PublishedOwner string   `yaml:"published_owner"` // for whom programs of the published protocols work that run on the hosts; default: none is served
	SSH            SSH      `yaml:"ssh"`
	Settings       Settings `yaml:"settings"` // of the daemons of all hosts
	Hosts          []Host   `yaml:"hosts"`

	file  string
	lines map[string]int // of the keys at the top
}

// SSH is how Ansible reaches the hosts, beyond the user's own configuration of ssh.
type SSH struct {
	User    string   `yaml:"user"`
	Port    int      `yaml:"port"`
	Key     string   `yaml:"key"`     // file of a private key
	Config  string   `yaml:"config"`  // file that is read in place of ~/.ssh/config
	Options []string `yaml:"options"` // each as for ssh -o
	Sudo    bool     `yaml:"sudo"`    // commands run by sudo -n: the user is not root
}

// Settings are settings of daemons beyond those that the plan makes, by role ("all" for the
// settings of frontends, masters and nodes alike), then by key, as in their files.
type Settings map[string]map[string]any

// Host is one host.
type Host struct {
	Name           string   `yaml:"name"`
	Address        string   `yaml:"address"` // at which the others reach it; default its name
	Destination    string   `yaml:"ssh"`     // of ssh; default its address
	Roles          []Role   `yaml:"roles"`
	Group          int      `yaml:"group"`    // of its master and its node
	Slots          int      `yaml:"slots"`    // of its node
	ID             string   `yaml:"frontend"` // of its frontend; default its name. Two hosts with one id: one is the standby
	ServiceManager string   `yaml:"service_manager"`
	Prefix         string   `yaml:"prefix"`
	Settings       Settings `yaml:"settings"`

	cluster string
	line    int
	lines   map[string]int // of its keys
}

// Cluster is the name of the cluster that the host belongs to.
func (h *Host) Cluster() string { return h.cluster }

// Has reports whether the host runs the daemon of the role.
func (h *Host) Has(r Role) bool { return slices.Contains(h.Roles, r) }

// With returns the hosts of a role in the order of the file.
func (inv *Inventory) With(r Role) (list []*Host) {
	for i := range inv.Hosts {
		if inv.Hosts[i].Has(r) {
			list = append(list, &inv.Hosts[i])
		}
	}
	return list
}

// Groups returns the hosts of the masters by group.
func (inv *Inventory) Groups() [][]*Host {
	masters := inv.With(Master)
	groups := make([][]*Host, 0, len(masters))
	for _, h := range masters {
		for len(groups) <= h.Group {
			groups = append(groups, nil)
		}
		groups[h.Group] = append(groups[h.Group], h)
	}
	return groups
}

// Standbys reports whether some group has two masters, or some frontend a standby: then NATS
// keeps the leaderships.
func (inv *Inventory) Standbys() (masters, frontends bool) {
	for _, group := range inv.Groups() {
		masters = masters || len(group) > 1
	}
	ids := map[string]int{}
	for _, h := range inv.With(Frontend) {
		ids[h.ID]++
		frontends = frontends || ids[h.ID] > 1
	}
	return masters, frontends
}

// File is the path of the inventory.
func (inv *Inventory) File() string { return inv.file }

// place names a key of a host for errors; without the key, the host.
func (inv *Inventory) place(h *Host, key string) string {
	line := inv.lines[key]
	if h != nil {
		if line = h.lines[key]; line == 0 {
			line = h.line
		}
	}
	at := inv.file
	if line > 0 {
		at += ", line " + strconv.Itoa(line)
	}
	if h != nil {
		at += ", host " + strconv.Quote(h.Name)
	}
	return at
}
