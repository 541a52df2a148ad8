package clusters

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// KeepsReplicas refuses a plan without a NATS server that the plan in the folder has, and one with several
// where that has one: a server of a cluster deletes what it kept alone. Leaderships and
// journals have their replicas on servers by name: a server of another name gets none of them, so that
// after the next loss only one of the two servers left has them, and no process leads.
func (p *Plan) KeepsReplicas(folder string) error {
	if masters, frontends := p.Inventory.Standbys(); !masters && !frontends {
		return nil
	}
	found, err := os.ReadDir(filepath.Join(folder, hostsFolder))
	if err != nil {
		return nil //nolint:nilerr // there is no earlier plan
	}
	for _, d := range found {
		own := filepath.Join(folder, hostsFolder, d.Name())
		kept, alone := keptReplicas(own)
		if servers := len(p.Inventory.With(hosts.NATS)); kept && alone && servers > 1 {
			return &api.Error{
				Problem: api.Invalid, Subject: p.Inventory.File(), Tried: "comparing it with the plan in " + folder,
				What: fmt.Sprintf("the NATS server of host %q was alone and becomes one of %d, which do not take over its leaderships and journals", d.Name(), servers),
				Next: "keep one server; or let all jobs end, remove the cluster (the playbook remove.yml, with the plan of the former inventory), delete " + filepath.Join(folder, hostsFolder) + ", and plan this one",
			}
		}
		still := slices.ContainsFunc(p.Hosts, func(h *HostPlan) bool { return h.Host.Name == d.Name() && h.Host.Has(hosts.NATS) })
		if still || !kept {
			continue
		}
		return &api.Error{
			Problem: api.Invalid, Subject: p.Inventory.File(), Tried: "comparing it with the plan in " + folder,
			What: fmt.Sprintf("the NATS server of host %q is left out, and a server of another name does not get its replicas of leaderships and journals", d.Name()),
			Next: fmt.Sprintf("replace the machine and keep the host's name: its entry gets the new address; where the cluster was removed from its hosts, delete %s", own),
		}
	}
	return nil
}

// keptReplicas reports whether the settings of the NATS server of a host, in the folder of a plan, have
// JetStream, and whether it is the only server.
func keptReplicas(folder string) (kept, alone bool) {
	prefix, planned := plannedPrefix(folder)
	if !planned {
		return false, false
	}
	text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(paths{prefix}.settings(hosts.NATS))))
	if err != nil {
		return false, false // it has no server
	}
	var settings struct {
		JetStream bool   `yaml:"jetstream"`
		Listen    string `yaml:"cluster_listen"`
	}
	return yaml.Unmarshal(text, &settings) == nil && settings.JetStream, settings.Listen == ""
}
