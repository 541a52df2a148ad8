package clusters

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// Remove stops the daemons of all hosts, nodes first, and removes everything that was put there,
// journals and streams included unless keepData is set. A host that has nothing of the cluster is
// left as it is.
func (c *Cluster) Remove(ctx context.Context, keepData bool) error {
	there := map[string]*found{}
	for _, p := range c.plan.Hosts {
		there[p.Host.Name] = &found{}
	}
	c.each(ctx, c.plan.Hosts, func(ctx context.Context, p *HostPlan) error {
		f, err := c.probe(ctx, p)
		if err != nil {
			return err
		}
		*there[p.Host.Name] = f
		return accepts(p, &f)
	})
	roles := slices.Clone(hosts.Roles)
	slices.Reverse(roles)
	for _, r := range roles {
		c.each(ctx, c.plan.Hosts, func(ctx context.Context, p *HostPlan) error {
			if s := serviceOf(services(p, there[p.Host.Name]), r); s != nil {
				c.opts.Say(p.Host.Name + ": stopping its " + r.Verb())
				_, err := c.remote.Run(ctx, p.Host, "stopping its "+r.Verb(), commands{p.Host}.stop(*s), nil)
				return err
			}
			return nil
		})
	}
	c.each(ctx, c.plan.Hosts, func(ctx context.Context, p *HostPlan) error {
		return c.clear(ctx, p, there[p.Host.Name], keepData)
	})
	return c.failure()
}

// services returns the daemons of a host, those of its last apply included; none where nothing of
// the cluster is.
func services(p *HostPlan, f *found) []Service {
	if f.manifest == nil {
		return nil
	}
	all := slices.Clone(p.Services)
	for _, s := range f.manifest.Services {
		if serviceOf(all, s.Role) == nil {
			all = append(all, s)
		}
	}
	return all
}

// clear removes the files of a host, the folder with its manifest last: a removal that breaks off
// is one of this cluster's hosts still.
func (c *Cluster) clear(ctx context.Context, p *HostPlan, f *found, keepData bool) error {
	if services(p, f) == nil {
		c.on(p, func(r *HostResult) { r.State = Absent })
		return nil
	}
	began, at, do := time.Now(), pathsOf(p.Host), commands{p.Host}
	folders := []string{at.opt(), at.run(), at.logs()}
	if !keepData {
		folders = append(folders, at.lib())
	}
	var units []string
	rest := ":"
	if do.systemd() {
		for _, s := range services(p, f) {
			units = append(units, at.units()+"/"+s.Unit)
			if s.Role == hosts.Node {
				units = append(units, at.dropIn(s.Unit))
				rest = "rmdir " + path.Dir(at.dropIn(s.Unit)) + " 2>/dev/null || :" // a host's own drop-ins stay
			}
		}
	}
	script := []string{"set -e", "rm -rf " + strings.Join(slices.Concat(folders, units), " "), rest, do.reread()}
	if !keepData {
		script = append(script, do.noAccount())
	}
	script = append(script, "rm -rf "+at.etc())
	folders = append(folders, at.etc())
	if at.prefix != "" { // empty folders were made for the cluster
		script = append(script, fmt.Sprintf("cd / && rmdir -p --ignore-fail-on-non-empty %[1]s/etc %[1]s/opt %[1]s/run %[1]s/var/lib %[1]s/var/log 2>/dev/null || :", at.prefix))
	}
	_, err := c.remote.Run(ctx, p.Host, "removing its files", strings.Join(script, "\n"), nil)
	c.on(p, func(r *HostResult) {
		r.State, r.Seconds = Removed, time.Since(began).Seconds()
		r.Changes = append(r.Changes, folders...)
	})
	return err
}
