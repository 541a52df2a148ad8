package clusters

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// historyOf returns where the frontend of a host writes its history.
func historyOf(h *hosts.Host) string { return pathsOf(h).lib() + "/history.jsonl" }

// placed returns an inventory with everything in the temporary folder of each host.
func placed(inv *hosts.Inventory) (*hosts.Inventory, error) {
	return inv.Derive(func(own *hosts.Inventory) {
		own.ServiceManager = hosts.NoManager
		for i := range own.Hosts {
			h := &own.Hosts[i]
			h.ServiceManager, h.Prefix = hosts.NoManager, strings.TrimRight(h.Prefix, "/")+temporaryFolder
		}
	})
}

// Sizes returns the number of workers of each group of an inventory, and of its frontends without
// standbys.
func Sizes(inv *hosts.Inventory) (groups []int, frontends int) {
	groups = make([]int, len(inv.Groups()))
	for _, h := range inv.With(hosts.Node) {
		groups[h.Group] += h.Slots
	}
	ids := map[string]bool{}
	for _, h := range inv.With(hosts.Frontend) {
		ids[h.ID] = true
	}
	return groups, len(ids)
}

// ForRun returns the inventory of a temporary cluster for a run. The run decides on policy, cutoff,
// reserved share, weight and seed. There are no standbys: of the masters of a group and of the
// frontends of one name the first is there. Under a policy with one master the first one of all has
// all nodes.
func ForRun(inv *hosts.Inventory, run *experiment.Run) (*hosts.Inventory, error) {
	if slots := run.Cores.SlotsPerWorker(); slots > 1 {
		for _, h := range inv.With(hosts.Node) {
			if h.Slots%slots != 0 {
				return nil, inv.Fault(h, "slots", fmt.Sprintf("under the policy %s a worker has %d slots, and the node %d", run.Policy, slots, h.Slots), fmt.Sprintf("give it a multiple of %d", slots))
			}
		}
	}
	own, err := inv.Derive(func(own *hosts.Inventory) {
		single(own, run.Cores.SingleMaster())
		own.Policy = run.Policy
		decide(own.Settings, run)
		for i := range own.Hosts {
			decide(own.Hosts[i].Settings, nil)
		}
	})
	if err != nil {
		return nil, err
	}
	if own, err = placed(own); err != nil {
		return nil, err
	}
	for _, h := range own.With(hosts.Frontend) {
		h.Settings.Set(string(hosts.Frontend), "history", historyOf(h))
	}
	return own, nil
}

// decide removes the settings that a run decides on, and sets them to its own where there is one.
func decide(s hosts.Settings, run *experiment.Run) {
	for _, values := range s {
		for _, key := range []string{"cutoff", "reserved", "seed", "weight", "history"} {
			delete(values, key)
		}
	}
	if run == nil {
		return
	}
	s.Set(hosts.AllRoles, "cutoff", time.Duration(run.Params.Cutoff).String())
	s.Set(hosts.AllRoles, "reserved", run.Description.Reserved)
	s.Set(hosts.AllRoles, "seed", run.Seed)
	s.Set(string(hosts.Master), "weight", run.Description.Weight)
}

// single leaves the standbys out, and with oneMaster all masters but the first.
func single(inv *hosts.Inventory, oneMaster bool) {
	masters, frontends := map[int]bool{}, map[string]bool{}
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		if oneMaster {
			h.Group = 0
		}
		h.Roles = slices.DeleteFunc(h.Roles, func(r hosts.Role) bool {
			switch r {
			case hosts.Master:
				was := masters[h.Group]
				masters[h.Group] = true
				return was
			case hosts.Frontend:
				was := frontends[h.ID]
				frontends[h.ID] = true
				return was
			}
			return false
		})
		if !h.Has(hosts.Frontend) {
			h.ID = ""
		}
		if !h.Has(hosts.Master) && !h.Has(hosts.Node) {
			h.Group = 0
		}
	}
	inv.Hosts = slices.DeleteFunc(inv.Hosts, func(h hosts.Host) bool { return len(h.Roles) == 0 })
}
