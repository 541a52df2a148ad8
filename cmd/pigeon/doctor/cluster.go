package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Cluster is a running cluster as its frontends show it.
type Cluster struct {
	// Frontends are the frontends that were asked, with the error of each that did not answer.
	Frontends []Frontend
	// Groups are the groups as the first frontend that answered sees them.
	Groups []api.MasterState
}

// Frontend is a frontend that was asked.
type Frontend struct {
	Address string
	Standby bool  // another process of its name serves
	Err     error // why it did not answer
}

// ClusterChecks returns the checks of a running cluster.
func ClusterChecks(c *Cluster) []Check {
	return []Check{
		{"cluster: frontends", c.frontends},
		{"cluster: masters", c.masters},
		{"cluster: nats", c.nats},
		{"cluster: nodes", c.nodes},
		{"cluster: versions", c.versions},
	}
}

// NoCluster is the finding where no cluster is named; file has settings of commands that should name
// one, "" for none.
func NoCluster(file, why string) Check {
	return Check{"cluster", func() Finding {
		if file == "" {
			return Finding{Status: Good, Found: "none is named, so none was asked: " + why}
		}
		return Finding{
			Status: Warn, Found: fmt.Sprintf("%s names no frontend, so commands find no cluster, and none was asked: %s", file, why),
			Advice: "name the cluster's frontends there (frontend: [host:20503])",
		}
	}}
}

func (c *Cluster) frontends() Finding {
	var f faults
	var up []string
	for _, front := range c.Frontends {
		switch {
		case front.Standby:
			up = append(up, front.Address+" (standby)")
		case front.Err != nil:
			f.addf(Bad, "check that it runs, that the address is that of applications, and its log", "%s: %v", front.Address, front.Err)
		default:
			up = append(up, front.Address)
		}
	}
	seen := map[string]bool{}
	for i := range c.Groups {
		for _, d := range c.Groups[i].Frontends {
			if d.State != api.StateUp && !seen[d.Name] {
				f.addf(Warn, "look at it; one that was moved or removed is forgotten after a while", "%s at %s is %s: %s", d.Name, d.Address, d.State, cmp.Or(d.Reason, "no reason is known"))
			}
			seen[d.Name] = true
		}
	}
	return f.finding("answered: " + strings.Join(up, ", "))
}

func (c *Cluster) masters() Finding {
	var f faults
	for i := range c.Groups {
		g := &c.Groups[i]
		if m := g.Master; m != nil && m.State != api.StateUp {
			f.addf(Bad, "start it, or correct what its frontends' log says", "the master of group %d at %s is %s: %s", g.Group, m.Address, m.State, cmp.Or(m.Reason, "no reason is known"))
		}
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		for _, m := range g.Masters {
			if m.Role == "" && g.Role == api.Leader {
				f.addf(Warn, "start it, or take it out of the setting masters: without it the group may have no other standby", "%s, a standby of group %d, cannot be reached", m.Address, g.Group)
			}
		}
	}
	if len(c.Groups) == 0 {
		f.addf(Bad, "see the frontends", "no frontend has told of any")
	}
	return f.finding(sched.Count(len(c.Groups), "group has a master that is up", "groups have masters that are up"))
}

// nats checks that all NATS servers keep the leaderships and the journals, as the masters that lead and the
// frontend that answers see them.
func (c *Cluster) nats() Finding {
	var f faults
	standbys, seen := false, map[string]bool{}
	for i := range c.Groups {
		standbys = standbys || c.Groups[i].Role != ""
		for _, fault := range c.Groups[i].NATSFaults {
			if !seen[fault] {
				f.addf(Bad, "make room on that server's disk or start its machine, then start the server again: while it is missing, the loss of another one stops the masters that have standbys and the frontends with a replicated journal", "%s", fault)
			}
			seen[fault] = true
		}
	}
	if !standbys {
		return f.finding("no fault is known, and no master that leads keeps a leadership there")
	}
	return f.finding("all servers that the masters use keep the leaderships")
}

func (c *Cluster) nodes() Finding {
	var f faults
	nodes, slots := 0, 0
	for i := range c.Groups {
		g := &c.Groups[i]
		up := 0
		for _, n := range slices.Concat(g.Nodes, g.Departed) {
			switch n.State {
			case api.StateUp, "":
				up++
				slots += n.Slots
				if n.Slots == 0 && n.Reason != "" {
					f.addf(Warn, "start its backends again, or give it slots", "%s of group %d is up, and %s", n.ID, g.Group, n.Reason)
				}
			case api.StateDraining, api.StateDrained, api.StateStopped:
			default:
				f.addf(Warn, "look at the machine and at the node monitor's log ('pigeon nodes' lists all)", "%s of group %d is %s: %s", n.ID, g.Group, n.State, cmp.Or(n.Reason, "no reason is known"))
			}
		}
		nodes += up
		if up == 0 && (g.Master == nil || g.Master.State == api.StateUp) {
			f.addf(Bad, "start node monitors with --master set to the group's master", "group %d has no node that is up", g.Group)
		}
	}
	return f.finding(sched.Count(nodes, "is up, with ", "are up, with ") + sched.Count(slots, "slot", "slots"))
}

func (c *Cluster) versions() Finding {
	who := map[string][]string{}
	note := func(version, name string) {
		if version != "" {
			who[version] = append(who[version], name)
		}
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		if g.Master != nil {
			note(g.Master.Version, fmt.Sprintf("the master of group %d", g.Group))
		}
		for _, d := range g.Frontends {
			note(d.Version, "frontend "+d.Name)
		}
		for _, n := range slices.Concat(g.Nodes, g.Departed) {
			note(n.Version, "node "+n.ID)
		}
	}
	var list []string
	for version, names := range who {
		slices.Sort(names)
		names = slices.Compact(names)
		if len(names) > 3 {
			names = append(slices.Clone(names[:3]), fmt.Sprintf("and %d more", len(names)-3))
		}
		list = append(list, version+": "+strings.Join(names, ", "))
	}
	slices.Sort(list)
	if len(list) > 1 {
		return Finding{Status: Warn, Found: "several run: " + strings.Join(list, "; "), Advice: "finish the upgrade in the order of docs/operations.md"}
	}
	for version := range who {
		return Finding{Status: Good, Found: "all daemons that were seen run " + version}
	}
	return Finding{Status: Good, Found: "of no daemon"}
}
