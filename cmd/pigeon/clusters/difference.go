package clusters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// difference is what a host has to be given.
type difference struct {
	program bool      // it has another program, or none
	files   []File    // that it has not, or otherwise
	stale   []string  // paths of files that an earlier apply gave it
	stop    []Service // of an earlier apply
	start   []Service // do not run
	again   []Service // run with other settings or another program
	seal    bool      // its list of the files it was given is not this plan's
}

// none reports whether the host is as planned.
func (d *difference) none() bool {
	return !d.program && !d.seal && len(d.files)+len(d.stale)+len(d.stop)+len(d.start)+len(d.again) == 0
}

// words describes the differences for the user.
func (d *difference) words() (list []string) {
	if d.program {
		list = append(list, "the program")
	}
	if n := len(d.files); n > 0 {
		list = append(list, sched.Count(n, "file", "files"))
	}
	if n := len(d.stale); n > 0 {
		list = append(list, sched.Count(n, "file", "files")+" removed")
	}
	for _, of := range []struct {
		verb string
		list []Service
	}{{"stop", d.stop}, {"start", d.start}, {"restart", d.again}} {
		for _, s := range of.list {
			list = append(list, of.verb+" "+s.Role.Verb())
		}
	}
	return list
}

// differs compares a host with its plan and the program. The error is that the host is of
// another cluster, has the certificates of another authority, or its system is not one for this
// program.
func differs(p *HostPlan, f *found, program Program) (*difference, error) {
	if err := accepts(p, f); err != nil {
		return nil, err
	}
	if err := trusts(p, f); err != nil {
		return nil, err
	}
	m, err := p.manifest()
	if err != nil {
		return nil, err
	}
	if f.program != program.name() {
		if err := program.runsOn(p.Host.Name, f.system); err != nil {
			return nil, err
		}
	}
	d := &difference{program: f.program != program.name(), seal: !f.has(m)}
	concerned := map[hosts.Role]bool{}
	for _, file := range p.Files {
		if !f.has(file) {
			d.files = append(d.files, file)
		}
		for _, r := range file.Of {
			concerned[r] = concerned[r] || !f.has(file) || !f.manifest.has(file)
		}
	}
	for _, s := range p.Services {
		switch running := f.running[s.Unit]; {
		case running == "":
			d.start = append(d.start, s)
		case concerned[s.Role] || running != program.name():
			d.again = append(d.again, s)
		}
	}
	if f.manifest != nil {
		d.leave(p, f.manifest)
	}
	return d, nil
}

// has reports whether the host has a file as planned.
func (f *found) has(file File) bool {
	return f.files[file.Path] == fmt.Sprintf("%o %s", file.Mode, file.SHA256)
}

// has reports whether the file was the same when the daemons of the host were started last: the
// list is written after them. Without a list it was not.
func (m *manifest) has(file File) bool {
	return m != nil && slices.ContainsFunc(m.Files, func(f File) bool { return f.Path == file.Path && f.SHA256 == file.SHA256 })
}

// leave adds what an earlier apply gave the host and the plan has not any more.
func (d *difference) leave(p *HostPlan, before *manifest) {
	for _, file := range before.Files {
		if !slices.ContainsFunc(p.Files, func(f File) bool { return f.Path == file.Path }) {
			d.stale = append(d.stale, file.Path)
		}
	}
	for _, s := range before.Services {
		if !slices.ContainsFunc(p.Services, func(have Service) bool { return have.Unit == s.Unit }) {
			d.stop = append(d.stop, s)
		}
	}
}

// foreign returns the settings that another installation may have put there. The certificate of the
// cluster's own authority is none of these: an administrator puts it there for the commands, as
// client.yaml, maybe before the host gets daemons.
func (f *found) foreign(p *HostPlan) []string {
	return slices.DeleteFunc(slices.Clone(f.settings), func(name string) bool {
		at := pathsOf(p.Host).etc() + "/" + name
		return at == pathsOf(p.Host).ca() && slices.ContainsFunc(p.Files, func(file File) bool {
			return file.Path == at && strings.HasSuffix(f.files[at], " "+file.SHA256)
		})
	})
}

// trusts refuses a host whose certificates another authority has issued, as when the plan is made in
// another folder: the hosts that have the new certificates and those that have the former ones would
// not talk to each other, and commands with the former authority to none of them.
func trusts(p *HostPlan, f *found) error {
	at := func(list []File) string {
		i := slices.IndexFunc(list, func(file File) bool { return file.Path == pathsOf(p.Host).ca() })
		if i < 0 {
			return ""
		}
		return list[i].SHA256
	}
	if f.manifest == nil || at(f.manifest.Files) == "" || at(p.Files) == "" || at(f.manifest.Files) == at(p.Files) {
		return nil
	}
	return &api.Error{
		Problem: api.Invalid, Subject: fmt.Sprintf("host %q", p.Host.Name), Tried: "comparing it with its plan",
		What: "its certificates are of another authority than that of the plan's folder",
		Next: "name the folder with its authority by --out; where that folder is lost, 'pigeon cluster remove --keep-data' and 'apply' give all hosts certificates of the new one",
	}
}

// accepts refuses a host that belongs to another cluster, or to no cluster of 'pigeon cluster': a
// package has the same units and folders. A host of this cluster has a manifest from the first
// file that it was given.
func accepts(p *HostPlan, f *found) error {
	e := &api.Error{Problem: api.Invalid, Subject: fmt.Sprintf("host %q", p.Host.Name), Tried: "comparing it with its plan"}
	theirs := f.foreign(p)
	switch m := f.manifest; {
	case m == nil && (len(theirs) > 0 || len(f.running) > 0):
		e.What = "it has an installation of Pigeon that is not of this cluster: "
		if len(theirs) > 0 {
			e.What += fmt.Sprintf("%s has %s without manifest.json", pathsOf(p.Host).etc(), theirs[0])
		} else {
			e.What += strings.Join(slices.Sorted(maps.Keys(f.running)), ", ") + " runs"
		}
		e.Next = "remove that installation and its settings, or leave the host out; if it is of this cluster, copy its manifest.json from the plan's folder there"
		return e
	case m != nil && m.Cluster != p.cluster():
		e.What, e.Next = fmt.Sprintf("it belongs to the cluster %q", m.Cluster), "remove it there with 'pigeon cluster remove', or leave it out here"
		return e
	case m != nil && m.Host != p.Host.Name:
		e.What, e.Next = fmt.Sprintf("it is the host %q of this cluster", m.Host), "correct the address, or the destination of ssh, in the inventory"
		return e
	case m != nil && m.ServiceManager != p.Host.ServiceManager:
		e.What, e.Next = fmt.Sprintf("its daemons are started by service_manager %s, and shall be by %s", m.ServiceManager, p.Host.ServiceManager), "remove it with the former inventory first"
		return e
	}
	return nil
}
