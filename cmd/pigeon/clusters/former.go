package clusters

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Former returns a line for each host of which a folder has the files of an earlier plan, and which
// this plan leaves out or gives another prefix: what runs there goes on, and nothing that is done with
// this plan stops it. It is called before [Plan.Write], which removes those files.
func (p *Plan) Former(folder string) (list []string) {
	found, err := os.ReadDir(filepath.Join(folder, hostsFolder))
	if err != nil {
		return nil // there is no earlier plan
	}
	for _, d := range found {
		prefix, planned := formerPrefix(filepath.Join(folder, hostsFolder, d.Name()))
		if !planned {
			continue
		}
		i := slices.IndexFunc(p.Hosts, func(h *HostPlan) bool { return h.Host.Name == d.Name() })
		switch {
		case i < 0:
			list = append(list, fmt.Sprintf("host %q is not in the inventory any more: if daemons run there, they go on as part of the cluster; to remove them, put its entry back, run 'pigeon cluster remove %s --host %[1]s --yes', and delete the entry again", d.Name(), p.Inventory.File()))
		case p.Hosts[i].Host.Prefix != prefix:
			list = append(list, fmt.Sprintf("host %q had the prefix %q: if daemons run there, they go on and keep their ports; to remove them, put that prefix back, run 'pigeon cluster remove %s --host %[1]s --yes', and change it again", d.Name(), prefix, p.Inventory.File()))
		}
	}
	return list
}

// formerPrefix returns the prefix that the files of a host have in the folder of a plan.
func formerPrefix(folder string) (prefix string, planned bool) {
	end := filepath.FromSlash(paths{}.manifest())
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // what cannot be read is no plan
		if err == nil && !d.IsDir() && strings.HasSuffix(path, end) {
			prefix, planned = filepath.ToSlash(strings.TrimSuffix(strings.TrimPrefix(path, folder), end)), true
			return fs.SkipAll
		}
		return nil
	})
	return prefix, planned
}

// Only returns the plan of some of its hosts.
func (p *Plan) Only(names []string) (*Plan, error) {
	some := &Plan{Inventory: p.Inventory, Clients: p.Clients}
	for _, name := range names {
		i := slices.IndexFunc(p.Hosts, func(h *HostPlan) bool { return h.Host.Name == name })
		if i < 0 {
			return nil, &api.Error{Problem: api.Invalid, What: "it has no such host", Subject: p.Inventory.File(), Tried: fmt.Sprintf("finding host %q", name), Next: "name one of its hosts, without the ranges: " + someNames(p.Hosts)}
		}
		if !slices.Contains(some.Hosts, p.Hosts[i]) {
			some.Hosts = append(some.Hosts, p.Hosts[i])
		}
	}
	return some, nil
}

// someNames returns the names of the first hosts.
func someNames(list []*HostPlan) string {
	const most = 5
	var names []string
	for _, h := range list[:min(len(list), most)] {
		names = append(names, h.Host.Name)
	}
	if len(list) > most {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}
