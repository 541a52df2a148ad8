package clusters

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// Commands that make the plan of one inventory at the same time make the same plan, with one
// certificate and key for each daemon.
func TestPlansAtTheSameTime(t *testing.T) {
	file := twoHosts(t)
	var plans [4]*Plan
	var all sync.WaitGroup
	for i := range plans {
		all.Go(func() {
			var err error
			if plans[i], _, _, err = makePlan(file, ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, p := range plans[1:] {
		for i, h := range p.Hosts {
			same := func(a, b File) bool { return a.Path == b.Path && a.SHA256 == b.SHA256 }
			if !slices.EqualFunc(h.Files, plans[0].Hosts[i].Files, same) {
				t.Errorf("host %s has the files %+v, and by another plan %+v", h.Host.Name, h.Files, plans[0].Hosts[i].Files)
			}
		}
	}
}

// twoHosts writes the inventory of a cluster of two hosts and returns its path.
func twoHosts(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	const inventory = "hosts:\n  - {name: m, address: 10.0.0.1, roles: [master, frontend]}\n  - {name: n, address: 10.0.0.2, roles: [node], slots: 1}\n"
	if err := os.WriteFile(file, []byte(inventory), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
