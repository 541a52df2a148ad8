package clusters

import (
	_ "embed"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/packaging"
)

// script starts daemons where there is no service manager.
//
//go:embed service.sh
var script string

// unitOf returns the name of a daemon at what starts it.
func unitOf(h *hosts.Host, r hosts.Role) string {
	if h.ServiceManager == hosts.Systemd {
		return "pigeon-" + string(r) + ".service"
	}
	return r.Verb()
}

// addManager adds what starts the daemons of a host.
func (p *HostPlan) addManager() {
	at := pathsOf(p.Host)
	if p.Host.ServiceManager != hosts.Systemd {
		text := strings.NewReplacer("@program@", at.program(), "@service@", at.service(), "@etc@", at.etc(), "@run@", at.run(), "@logs@", at.logs()).Replace(script)
		p.add(File{Path: at.service(), Mode: programMode, data: []byte(text)})
		return
	}
	for _, s := range p.Services {
		text := strings.ReplaceAll(packaging.Unit(s.Unit), packaging.Program, at.program())
		p.add(File{Path: at.units() + "/" + s.Unit, Mode: publicMode, Of: []hosts.Role{s.Role}, data: []byte(text)})
		if s.Role == hosts.Node { // the next process starts beside the control groups of tasks that run on
			p.add(File{Path: at.dropIn(s.Unit), Mode: publicMode, Of: []hosts.Role{s.Role}, data: []byte(packaging.Subgroup)})
		}
	}
}
