package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// found is what a host has.
type found struct {
	system   string            // "Linux x86_64"
	program  string            // name of the file of the program, "" for none
	files    map[string]string // mode and SHA-256 by path
	running  map[string]string // file of the program that runs, by unit
	settings []string          // names of files in the folder of settings, those of commands left out
	manifest *manifest         // of the last apply, nil for none
}

// probe looks at a host: at the files of its plan and at its daemons.
func (c *Cluster) probe(ctx context.Context, p *HostPlan) (found, error) {
	at, do := pathsOf(p.Host), commands{p.Host}
	var b strings.Builder
	fmt.Fprintf(&b, "echo \"system $(uname -s) $(uname -m)\"\necho \"program $(readlink %s)\"\n", at.program())
	fmt.Fprintf(&b, "for f in %s/*; do case ${f##*/} in client.yaml|manifest.json|manifest.json.new) ;; *) [ ! -e \"$f\" ] || echo \"settings ${f##*/}\" ;; esac; done\n", at.etc())
	b.WriteString("for f in")
	for _, f := range p.Files {
		b.WriteString(" " + f.Path)
	}
	b.WriteString(" " + at.manifest())
	b.WriteString("; do [ ! -f $f ] || echo \"file $(stat -c %a $f) $(sha256sum <$f | cut -c1-64) $f\"; done\n")
	for _, s := range p.Services {
		// Before the first apply nothing knows the daemon.
		fmt.Fprintf(&b, "n=$(%s 2>/dev/null); [ \"${n:-0}\" = 0 ] || echo \"runs %s $(readlink /proc/$n/exe)\"\n", do.pid(s), s.Unit)
	}
	fmt.Fprintf(&b, "echo manifest; cat %s 2>/dev/null || :\n", at.manifest())
	out, err := c.remote.Run(ctx, p.Host, "looking at it", b.String(), nil)
	if err != nil {
		return found{}, err
	}
	return readProbe(p.Host, out)
}

func readProbe(h *hosts.Host, out string) (found, error) {
	f := found{files: map[string]string{}, running: map[string]string{}}
	list, rest, complete := strings.Cut(out, "\nmanifest\n")
	for line := range strings.Lines(list) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		first, second, _ := strings.Cut(value, " ")
		switch word {
		case "system":
			f.system = value
		case "program":
			f.program = value[strings.LastIndexByte(value, '/')+1:]
		case "settings":
			f.settings = append(f.settings, value)
		case "file":
			sum, path, _ := strings.Cut(second, " ")
			f.files[path] = first + " " + sum
		case "runs":
			name := strings.TrimSuffix(second, " (deleted)")
			f.running[first] = name[strings.LastIndexByte(name, '/')+1:]
		}
	}
	if strings.TrimSpace(rest) != "" {
		f.manifest = &manifest{}
		if err := json.Unmarshal([]byte(rest), f.manifest); err != nil {
			return f, &api.Error{Problem: api.Invalid, What: "the list of what 'pigeon cluster' put there cannot be read: " + err.Error(), Subject: fmt.Sprintf("host %q", h.Name), Tried: "looking at it", Next: "replace " + pathsOf(h).manifest() + " there by that of the plan's folder, and apply again"}
		}
	}
	if !complete || f.system == "" {
		return f, &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it answered %.200q", out), Subject: fmt.Sprintf("host %q", h.Name), Tried: "looking at it", Next: "see what its login shell prints: 'ssh " + h.Destination + " true' must print nothing"}
	}
	return f, nil
}
