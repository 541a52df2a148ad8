package clusters

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// readyTime bounds how long a daemon is waited for: a frontend reads its journal first, and a
// NATS server waits for the others.
const readyTime = 60 * time.Second

// strangerTries is how often, 0.2 s apart, another process has to answer for a daemon before that counts
// as a failure: the former process of the daemon may still answer for a moment.
const strangerTries = 15

// roll starts and restarts the daemons, role by role. Those that do not run start all at once.
// Those that run are restarted one after another, each until it is ready, so that the others of
// its role serve meanwhile; the first that does not come back ends it. What was done is taken out
// of the work.
func (c *Cluster) roll(ctx context.Context, todo map[string]*work) error {
	for _, r := range hosts.Roles {
		c.each(ctx, c.plan.Hosts, func(ctx context.Context, p *HostPlan) error {
			return c.startRole(ctx, todo[p.Host.Name], r)
		})
		for _, w := range c.order(ctx, r, todo) {
			s := serviceOf(w.again, r)
			if err := c.restart(ctx, w, *s); err != nil {
				c.fail(w.HostPlan, err)
				if ctx.Err() != nil { // which says nothing about the daemon
					return ctx.Err()
				}
				return &api.Error{
					Problem: api.Internal, What: "its " + r.Verb() + " did not come back, so nothing more was restarted", Subject: fmt.Sprintf("host %q", w.Host.Name), Tried: "restarting daemons one after another",
					Next: "correct what its log says, and repeat the command: it goes on there",
				}
			}
		}
	}
	return ctx.Err()
}

// serviceOf returns the daemon of a role, nil without one.
func serviceOf(list []Service, r hosts.Role) *Service {
	if i := slices.IndexFunc(list, func(s Service) bool { return s.Role == r }); i >= 0 {
		return &list[i]
	}
	return nil
}

// startRole starts the daemon of a role where it does not run.
func (c *Cluster) startRole(ctx context.Context, w *work, r hosts.Role) error {
	s := serviceOf(w.start, r)
	if s == nil {
		return nil
	}
	began := time.Now()
	err := c.ready(ctx, w.Host, *s, "starting", commands{w.Host}.start(*s))
	c.on(w.HostPlan, func(r *HostResult) { r.Seconds += time.Since(began).Seconds() })
	if err != nil {
		return err
	}
	c.did(w, (&difference{start: []Service{*s}}).words()...)
	w.start = without(w.start, r)
	return nil
}

// without returns the daemons without that of a role.
func without(list []Service, r hosts.Role) []Service {
	return slices.DeleteFunc(slices.Clone(list), func(s Service) bool { return s.Role == r })
}

// restart restarts a daemon and waits until another process of it is ready.
func (c *Cluster) restart(ctx context.Context, w *work, s Service) error {
	do := commands{w.Host}
	c.opts.Say(w.Host.Name + ": restarting its " + s.Role.Verb())
	script := fmt.Sprintf(`old=$(%[1]s); %[2]s || exit 1
i=0; while n=$(%[1]s); [ "${n:-0}" = 0 ] || [ "$n" = "$old" ]; do
! %[4]s || exit 1
i=$((i+1)); [ $i -lt %[3]d ] || { echo "its process did not end and start again" >&2; exit 1; }; sleep 0.2; done`, do.pid(s), do.again(s), int(readyTime.Seconds()*5), do.ended(s))
	began := time.Now()
	err := c.ready(ctx, w.Host, s, "restarting", script)
	c.on(w.HostPlan, func(r *HostResult) { r.Seconds += time.Since(began).Seconds() })
	if err != nil {
		return err
	}
	c.did(w, (&difference{again: []Service{s}}).words()...)
	w.again = without(w.again, s.Role)
	return nil
}

// ready runs a script that starts a daemon, and waits until that serves, or has ended for good;
// another process that holds its ports does not count, as far as its answers tell. The
// error has the end of its log. The shell watches for the end: the program there may be an earlier one.
func (c *Cluster) ready(ctx context.Context, h *hosts.Host, s Service, verb, script string) error {
	do := commands{h}
	script = fmt.Sprintf(`(
%[1]s
) && {
%[2]s cluster ready --wait %[3]s %[4]s & waits=$!
while kill -0 $waits 2>/dev/null; do
if %[5]s; then kill -KILL $waits 2>/dev/null; break; fi
sleep 0.2; done
wait $waits 2>/dev/null; } && (
i=0; while who=$(%[2]s cluster ready --process %[4]s 2>/dev/null); [ -n "$who" ] && [ "$who" != "$(%[7]s)" ]; do
i=$((i+1)); [ $i -lt %[8]d ] || { echo "process $who, which is not this daemon, serves %[4]s; end it, or give the daemon other ports" >&2; exit 1; }; sleep 0.2; done
) && exit 0
{ echo; echo 'the end of its log:'; %[6]s; ! %[5]s || echo 'it ended at once, and is not started again'; } >&2; exit 1`, script, pathsOf(h).program(), readyTime, s.Ready, do.ended(s), do.log(s), do.pid(s), strangerTries)
	_, err := c.remote.Run(ctx, h, verb+" its "+s.Role.Verb(), script, nil)
	return err
}

// order returns the hosts on which the daemon of a role is to be restarted: of masters and
// frontends with standbys those that lead last, since each restart of one that leads is a takeover.
func (c *Cluster) order(ctx context.Context, r hosts.Role, todo map[string]*work) (list []*work) {
	leads := map[*work]bool{}
	for _, p := range c.plan.Hosts {
		w := todo[p.Host.Name]
		if c.failed(p) || serviceOf(w.again, r) == nil {
			continue
		}
		list = append(list, w)
		leads[w] = c.leads(ctx, w, r)
	}
	slices.SortStableFunc(list, func(a, b *work) int {
		switch {
		case leads[a] == leads[b]:
			return 0
		case leads[a]:
			return 1
		}
		return -1
	})
	return list
}

// leads reports whether a daemon leads others that stand by. One that does not report it does not.
func (c *Cluster) leads(ctx context.Context, w *work, r hosts.Role) bool {
	if r != hosts.Master && r != hosts.Frontend {
		return false
	}
	metric := map[hosts.Role]string{hosts.Master: "pigeon_master_leads", hosts.Frontend: "pigeon_frontend_leads"}[r]
	page := strings.Replace(strings.Replace(serviceOf(w.Services, r).Ready, "/readyz", "/metrics", 1), "/healthz", "/metrics", 1)
	out, err := c.remote.Run(ctx, w.Host, "asking whether its "+r.Verb()+" leads", fmt.Sprintf("%s cluster ready --metric %s %s", pathsOf(w.Host).program(), metric, page), nil)
	return err == nil && strings.TrimSpace(out) == "1"
}
