package clusters

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// Status looks at all hosts and changes nothing. The error joins those of the hosts that could
// not be looked at.
func (c *Cluster) Status(ctx context.Context) error {
	c.each(ctx, c.plan.Hosts, func(ctx context.Context, p *HostPlan) error {
		began := time.Now()
		f, err := c.probe(ctx, p)
		if err != nil {
			return err
		}
		ready, err := c.readiness(ctx, p, &f)
		if err != nil {
			return err
		}
		d, err := differs(p, &f, c.opts.Program)
		if err != nil {
			return err
		}
		c.on(p, func(r *HostResult) {
			r.Seconds = time.Since(began).Seconds()
			switch {
			case f.manifest == nil && f.program == "":
				r.State = Absent
			case !d.none():
				r.State, r.Changes = Different, d.words()
			}
			for _, s := range p.Services {
				running := f.running[s.Unit]
				r.Daemons = append(r.Daemons, ServiceResult{Role: string(s.Role), Running: running != "", Ready: ready[s.Role], Program: running})
			}
		})
		return nil
	})
	return c.failure()
}

// readiness asks the daemons of a host that run whether they serve; another process that holds their
// ports does not count, as far as its answers tell.
func (c *Cluster) readiness(ctx context.Context, p *HostPlan, f *found) (map[hosts.Role]bool, error) {
	ready := map[hosts.Role]bool{}
	var script strings.Builder
	for _, s := range p.Services {
		if f.running[s.Unit] != "" {
			fmt.Fprintf(&script, `%[1]s cluster ready --wait 1s %[2]s 2>/dev/null && {
who=$(%[1]s cluster ready --process %[2]s 2>/dev/null) && [ -n "$who" ] && [ "$who" != "$(%[3]s)" ] || echo %[4]s; }
`, pathsOf(p.Host).program(), s.Ready, commands{p.Host}.pid(s), s.Role)
		}
	}
	if script.Len() == 0 {
		return ready, nil
	}
	out, err := c.remote.Run(ctx, p.Host, "asking its daemons whether they serve", script.String()+":", nil)
	for word := range strings.FieldsSeq(out) {
		ready[hosts.Role(word)] = true
	}
	return ready, err
}
