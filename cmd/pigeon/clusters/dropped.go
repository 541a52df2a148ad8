package clusters

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dropped returns a line for each host of the folder's previous plan that is missing here or has another
// prefix: its daemons keep running, and nothing that is done with this plan stops them. Call it before
// [Plan.Write], which removes the files of such hosts.
func (p *Plan) Dropped(folder string) (list []string) {
	found, err := os.ReadDir(filepath.Join(folder, hostsFolder))
	if err != nil {
		return nil // there is no previous plan
	}
	for _, d := range found {
		prefix, planned := plannedPrefix(filepath.Join(folder, hostsFolder, d.Name()))
		if !planned {
			continue
		}
		i := slices.IndexFunc(p.Hosts, func(h *HostPlan) bool { return h.Host.Name == d.Name() })
		switch {
		case i < 0:
			list = append(list, fmt.Sprintf("host %[1]q is not in the inventory any more: its daemons, if any run, keep running as part of the cluster; to remove them, put its entry back, plan again, run the playbook remove.yml with --limit %[1]s, and delete the entry again", d.Name()))
		case p.Hosts[i].Host.Prefix != prefix:
			list = append(list, fmt.Sprintf("host %[1]q had the prefix %[2]q: its daemons, if any run, keep running and keep their ports; to remove them, put that prefix back, plan again, run the playbook remove.yml with --limit %[1]s, and change it again", d.Name(), prefix))
		}
	}
	return list
}

// plannedPrefix returns the prefix that the files of a host have in the folder of a plan.
func plannedPrefix(folder string) (prefix string, planned bool) {
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
