package hosts

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/nearest"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// check returns all mistakes joined.
func (inv *Inventory) check() error {
	c := checker{inv: inv}
	c.top()
	for i := range inv.Hosts {
		c.host(&inv.Hosts[i])
	}
	c.names()
	if len(c.faults) == 0 { // the others would only repeat what is wrong
		c.groups()
		c.servers()
	}
	return errors.Join(c.faults...)
}

type checker struct {
	inv    *Inventory
	faults []error
}

// refuse records a mistake when wrong is set.
func (c *checker) refuse(wrong bool, h *Host, key, what, next string) {
	if wrong {
		c.faults = append(c.faults, c.inv.Fault(h, key, what, next))
	}
}

var (
	pathShape        = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)*$`)
	numberShape      = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`) // which no host's name has
	destinationShape = regexp.MustCompile(`^[A-Za-z0-9_.:\[\]@%/-]+$`)
)

// managers and securities are the values of the settings.
func managers() []string   { return []string{Systemd, NoManager} }
func securities() []string { return []string{TLS, Insecure} }

func (c *checker) top() {
	inv := c.inv
	c.refuse(!daemon.IsName(inv.Cluster), nil, "cluster", fmt.Sprintf("the cluster's name is %q", inv.Cluster), daemon.NameRule)
	_, _, err := policy.Configure(inv.Policy, sched.Params{Cutoff: sched.Second})
	c.refuse(err != nil, nil, "policy", fmt.Sprintf("the policy is %q: %v", inv.Policy, err), "name a policy of docs/policies.md")
	c.refuse(!slices.Contains(securities(), inv.Security), nil, "security", fmt.Sprintf("security is %q", inv.Security), "use tls (certificates are made) or insecure (whoever reaches a port may do everything)")
	c.refuse(len(inv.Hosts) == 0, nil, "hosts", "it names no host", "list hosts with name and roles under the key hosts")
	c.refuse(inv.SSH.Port < 0 || inv.SSH.Port > 65535, nil, "ssh", fmt.Sprintf("the port of ssh is %d", inv.SSH.Port), "use 1 to 65535, or leave it out")
	c.refuse(inv.SSH.User != "" && !destinationShape.MatchString(inv.SSH.User) || strings.HasPrefix(inv.SSH.User, "-"), nil, "ssh", fmt.Sprintf("the user of ssh is %q", inv.SSH.User), "give a user's name")
	if err := api.CheckOwner(inv.PublishedOwner); err != nil {
		c.refuse(true, nil, "published_owner", fmt.Sprintf("the owner of published programs is %q: %v", inv.PublishedOwner, err), "use a path such as team or team/alice")
	}
	c.settings(nil, inv.Settings)
}

func (c *checker) host(h *Host) {
	c.refuse(!daemon.IsName(h.Name), h, "name", fmt.Sprintf("the name of the host is %q", h.Name), daemon.NameRule)
	ip := net.ParseIP(h.Address)
	c.refuse(ip == nil && strings.ContainsAny(h.Address, ":/ []") || ip != nil && ip.IsUnspecified() || h.Address == "", h, "address",
		fmt.Sprintf("the others cannot reach it at the address %q", h.Address), "give the host's name or one of its addresses, without a port")
	c.refuse(ip == nil && numberShape.MatchString(h.Address), h, "address",
		fmt.Sprintf("%q is no address: each of its four numbers is at most 255", h.Address), "correct it; a range of more than 254 addresses needs an entry for each network")
	c.refuse(!destinationShape.MatchString(h.Destination) || strings.HasPrefix(h.Destination, "-"), h, "ssh", fmt.Sprintf("ssh cannot be told the destination %q", h.Destination), "give host or user@host")
	c.refuse(!slices.Contains(managers(), h.ServiceManager), h, "service_manager", fmt.Sprintf("the service manager is %q", h.ServiceManager), "use systemd, or none for a script with a file for each process's number")
	c.refuse(!pathShape.MatchString(h.Prefix), h, "prefix", fmt.Sprintf("the prefix is %q", h.Prefix), "give the path of a folder from /, of letters, digits, dots, dashes and underscores")
	c.refuse(h.Prefix != "" && h.ServiceManager == Systemd, h, "prefix", "systemd reads its units below /etc alone", "leave the prefix out, or use service_manager: none")
	c.roles(h)
	c.refuse(h.Group < 0 || h.Group > 32767, h, "group", fmt.Sprintf("the group is %d", h.Group), "use a number from 0 to 32767")
	c.refuse(h.Group != 0 && !h.Has(Master) && !h.Has(Node), h, "group", "a group is that of a master or a node, and the host has neither", "leave it out, or add a role")
	c.refuse(h.Has(Node) && h.lines["slots"] == 0, h, "slots", "its node has no number of slots", "say with slots how many tasks run there at a time; one for each core is usual, 0 is for a node that only carries backends of applications")
	c.refuse(h.Has(Node) && (h.Slots < 0 || h.Slots > 10_000), h, "slots", fmt.Sprintf("its node has %d slots", h.Slots), "use 1 to 10000, or 0 for a node that only carries backends of applications")
	c.refuse(!h.Has(Node) && h.Slots != 0, h, "slots", "slots are those of a node, and the host is none", "leave them out, or add the role node")
	c.refuse(h.Has(Frontend) && ip == nil && c.inv.PublishedOwner != "", h, "address", fmt.Sprintf("its address %q is a name, at which its frontend listens on every address, so none is left for published_owner", h.Address),
		"give one of its addresses as numbers; or leave published_owner out, and programs on this host reach the frontend at localhost as their own users")
	c.refuse(!h.Has(Frontend) && h.ID != "", h, "frontend", "it names a frontend, and the host has none", "leave it out, or add the role frontend")
	c.refuse(h.Has(Frontend) && !daemon.IsName(h.ID), h, "frontend", fmt.Sprintf("the name of its frontend is %q", h.ID), daemon.NameRule)
	c.settings(h, h.Settings)
}

func (c *checker) roles(h *Host) {
	c.refuse(len(h.Roles) == 0, h, "roles", "the host has no role", "give it some of nats, master, frontend, node")
	seen := map[Role]bool{}
	for _, r := range h.Roles {
		next := "use nats, master, frontend, node"
		if meant := nearest.Close(string(r), roleNames()); meant != "" {
			next = fmt.Sprintf("did you mean %q?", meant)
		}
		c.refuse(!slices.Contains(Roles, r), h, "roles", fmt.Sprintf("the role %q is unknown", r), next)
		c.refuse(seen[r], h, "roles", fmt.Sprintf("the role %q is there twice", r), "delete one of them")
		seen[r] = true
	}
}

func roleNames() (names []string) {
	for _, r := range Roles {
		names = append(names, string(r))
	}
	return names
}

// settings checks for which daemons settings are given; their keys are checked by the daemons.
func (c *checker) settings(h *Host, s Settings) {
	for role := range s {
		c.refuse(role != AllRoles && !slices.Contains(roleNames(), role), h, "settings", fmt.Sprintf("settings are given for %q", role), "use nats, master, frontend, node, or all for the latter three")
	}
}

// AllRoles is the key of settings that frontends, masters and nodes have alike.
const AllRoles = "all"

// names refuses values that two hosts have and only one can have.
func (c *checker) names() {
	by := map[string]map[string]*Host{"name": {}, "address": {}}
	loopback := 0
	for i := range c.inv.Hosts {
		h := &c.inv.Hosts[i]
		for _, is := range []struct{ key, value string }{{"name", h.Name}, {"address", h.Address}} {
			same := canonical(is.value)
			if other := by[is.key][same]; other != nil {
				c.refuse(true, h, is.key, fmt.Sprintf("its %s %q is that of %s, too", is.key, is.value, c.inv.place(other, is.key)), "give each host its own; a host has all its roles in one entry")
			}
			by[is.key][same] = h
		}
		if ip := net.ParseIP(h.Address); ip != nil && ip.IsLoopback() || h.Address == "localhost" {
			loopback++
		}
	}
	for i := range c.inv.Hosts {
		h := &c.inv.Hosts[i]
		ip := net.ParseIP(h.Address)
		c.refuse(loopback < len(c.inv.Hosts) && (ip != nil && ip.IsLoopback() || h.Address == "localhost"), h, "address", fmt.Sprintf("%s is the host itself at every host", h.Address), "give an address by which the other hosts reach it")
	}
}

// canonical returns an IP address in its one usual form, which others are equal to, and any other text as
// it is.
func canonical(text string) string {
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.Unmap().String()
	}
	return text
}

func (c *checker) groups() {
	inv := c.inv
	for _, r := range []Role{Master, Frontend, Node} {
		c.refuse(len(inv.With(r)) == 0, nil, "hosts", fmt.Sprintf("no host has the role %s", r), "give it to one or more")
	}
	groups := inv.Groups()
	for g, masters := range groups {
		c.refuse(len(masters) == 0, nil, "hosts", fmt.Sprintf("group %d has no master, and group %d has one", g, len(groups)-1), "number the groups from 0 without a gap")
	}
	for _, h := range inv.With(Node) {
		c.refuse(h.Group >= len(groups), h, "group", fmt.Sprintf("it is a node of group %d, which has no master", h.Group), "give one of the hosts the role master with that group")
	}
	if p, _, err := policy.Configure(inv.Policy, sched.Params{Cutoff: sched.Second}); err == nil && len(groups) > 0 {
		err := policy.CheckMasters(p, len(groups))
		c.refuse(err != nil, nil, "policy", fmt.Sprint(err), "put all masters and nodes into group 0, or use a policy with groups")
	}
}

// servers checks the number of NATS servers.
func (c *checker) servers() {
	masters, frontends := c.inv.Standbys()
	n := len(c.inv.With(NATS))
	c.refuse(n != 0 && n != 1 && n != 3, nil, "hosts", fmt.Sprintf("%d hosts have the role nats", n), "use 1, or 3 to survive the loss of one; none where no daemon has a standby")
	c.refuse(n == 0 && (masters || frontends), nil, "hosts", "masters or frontends have standbys, and no host has the role nats, where it is kept who leads", "give the role nats to three hosts, or to one whose loss ends the cluster")
}
