package clusters

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/shellwords"
)

// work is the work to do on a host. What is done is taken out of its difference.
type work struct {
	*HostPlan
	*difference
	found found
	given bool // it has all files; what is left are daemons to start
}

// Apply gives the hosts the parts of their plans that they lack, and makes their daemons run.
// A host that runs another program is refused: that is an upgrade. The error joins those of
// the hosts that failed; all others are as planned then, unless a daemon did not come back, which
// ends the restarts.
func (c *Cluster) Apply(ctx context.Context) error {
	return c.bring(ctx, false, func(_ context.Context, w *work) error {
		if w.difference.program && w.found.program != "" && len(w.found.running) > 0 {
			return &api.Error{
				Problem: api.Invalid, What: "it runs another program, " + w.found.program, Subject: fmt.Sprintf("host %q", w.Host.Name), Tried: "applying its plan",
				Next: "use 'pigeon cluster upgrade', which restarts daemons in order, or give that program with --program",
			}
		}
		return nil
	})
}

// Upgrade is Apply with another program: it is copied to all hosts first, then the daemons are
// restarted one after another, role by role. When a host is refused, none is changed. A daemon that
// does not come back ends the upgrade; completed steps stay, and the upgrade continues there when
// it is repeated.
func (c *Cluster) Upgrade(ctx context.Context) error {
	return c.bring(ctx, true, func(ctx context.Context, w *work) error {
		running, err := c.versions(ctx, w)
		for _, v := range running {
			err = errors.Join(err, c.opts.Program.follows(w.Host.Name, v.Version))
		}
		return err
	})
}

// versions asks the programs of a host for their versions: the one that its daemons would start
// with, and those that they run, which are others after an upgrade that broke off. One whose file
// was deleted is not asked.
func (c *Cluster) versions(ctx context.Context, w *work) ([]versionLine, error) {
	names := append(slices.Collect(maps.Values(w.found.running)), w.found.program)
	slices.Sort(names)
	script := []string{"set -e"}
	for _, name := range slices.Compact(names) {
		if name != "" && name != c.opts.Program.name() {
			script = append(script, fmt.Sprintf("f=%s; [ ! -x $f ] || $f version -o json", shellwords.Quote(pathsOf(w.Host).bin()+"/"+name)))
		}
	}
	if len(script) == 1 {
		return nil, nil
	}
	out, err := c.remote.Run(ctx, w.Host, "asking the programs there for their versions", strings.Join(script, "\n"), nil)
	if err != nil {
		return nil, err
	}
	list, err := versionsIn([]byte(out))
	if err != nil {
		return nil, fmt.Errorf("host %q: %w", w.Host.Name, err)
	}
	return list, nil
}

// bring makes all hosts as planned; allowed refuses one, before any is changed. With together set
// none is changed when one is refused.
func (c *Cluster) bring(ctx context.Context, together bool, allowed func(context.Context, *work) error) error {
	todo := make(map[string]*work, len(c.plan.Hosts))
	for _, p := range c.plan.Hosts {
		todo[p.Host.Name] = &work{HostPlan: p}
	}
	var refused atomic.Bool
	c.eachWork(ctx, todo, func(ctx context.Context, w *work) error {
		err := c.compare(ctx, w)
		if err == nil {
			err = allowed(ctx, w)
		}
		if err != nil && !unreachable(err) {
			refused.Store(true)
		}
		return err
	})
	if together && refused.Load() {
		return errors.Join(&api.Error{
			Problem: api.Invalid, What: "a host was refused, so none was changed", Subject: fmt.Sprintf("cluster %q", c.plan.Inventory.Cluster), Tried: "comparing the hosts with the plan",
			Next: "correct that host, or leave it out of the inventory, and repeat the command",
		}, c.failure())
	}
	c.eachWork(ctx, todo, c.give)
	err := c.roll(ctx, todo)
	c.settle(ctx, todo)
	return errors.Join(err, c.failure())
}

// unreachable reports whether an error says that ssh could not connect. A host that is switched off
// runs no version that others could not work with.
func unreachable(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Problem == api.NotReady
}

// eachWork is each with the work of a host; its time is recorded.
func (c *Cluster) eachWork(ctx context.Context, todo map[string]*work, do func(context.Context, *work) error) {
	c.each(ctx, c.plan.Hosts, func(ctx context.Context, p *HostPlan) error {
		began := time.Now()
		err := do(ctx, todo[p.Host.Name])
		c.on(p, func(r *HostResult) { r.Seconds += time.Since(began).Seconds() })
		return err
	})
}

func (c *Cluster) compare(ctx context.Context, w *work) (err error) {
	if w.found, err = c.probe(ctx, w.HostPlan); err != nil {
		return err
	}
	if w.difference, err = differs(w.HostPlan, &w.found, c.opts.Program); err != nil {
		return err
	}
	if !w.none() { // until everything is done there
		c.on(w.HostPlan, func(r *HostResult) { r.State = Different })
	}
	return nil
}

// did records what was done on a host.
func (c *Cluster) did(w *work, what ...string) {
	c.on(w.HostPlan, func(r *HostResult) { r.Changes = append(r.Changes, what...) })
}

// give copies the program and the files to a host, and stops daemons that it should no longer
// have.
func (c *Cluster) give(ctx context.Context, w *work) error {
	if w.none() {
		return nil
	}
	if err := c.mark(ctx, w); err != nil {
		return err
	}
	if w.difference.program {
		c.opts.Say(fmt.Sprintf("%s: copying the program (%d MB)", w.Host.Name, w.size(c.opts.Program)))
		if err := c.copyProgram(ctx, w); err != nil {
			return err
		}
		c.did(w, (&difference{program: true}).words()...)
		w.difference.program = false
	}
	for _, s := range w.stop {
		if _, err := c.remote.Run(ctx, w.Host, "stopping its "+s.Role.Verb(), commands{w.Host}.stop(s), nil); err != nil {
			return err
		}
		c.did(w, (&difference{stop: []Service{s}}).words()...)
	}
	w.stop = nil
	c.opts.Say(w.Host.Name + ": " + strings.Join(w.words(), ", "))
	if err := c.write(ctx, w); err != nil {
		return err
	}
	c.did(w, (&difference{files: w.files, stale: w.stale}).words()...)
	w.files, w.stale, w.given = nil, nil, true
	return nil
}

// mark makes a host one of this cluster before anything else is put there, so that it is recognised
// as one wherever the command breaks off.
func (c *Cluster) mark(ctx context.Context, w *work) error {
	if w.found.manifest != nil {
		return nil
	}
	m, err := w.list(nil, nil)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("set -e; umask 022; mkdir -p %s\n%s", path.Dir(m.Path), intoPlace(m))
	_, err = c.remote.Run(ctx, w.Host, "making it one of the cluster", script, bytes.NewReader(m.data))
	return err
}

// write writes the files of a host and removes those that it should no longer have.
func (c *Cluster) write(ctx context.Context, w *work) error {
	at, do := pathsOf(w.Host), commands{w.Host}
	archive, err := archiveOf(w.HostPlan, w.files)
	if err != nil {
		return err
	}
	script := []string{"set -e", "umask 022", do.account(), "mkdir -p " + strings.Join([]string{at.etc(), at.bin(), at.lib(), at.run(), at.logs()}, " ")}
	if owner := ""; len(w.files) > 0 {
		if !do.systemd() {
			owner = " --no-same-owner"
		}
		// The times in the archive are all the same: without -m daemons would not see that a file is another one.
		script = append(script, "tar -xpmf - -C /"+owner)
	}
	if len(w.stale) > 0 {
		script = append(script, "rm -f "+strings.Join(w.stale, " "))
	}
	script = append(script, do.reread())
	_, err = c.remote.Run(ctx, w.Host, "writing its files", strings.Join(script, "\n"), bytes.NewReader(archive))
	return err
}

// size returns the size of a program in MB.
func (w *work) size(p Program) int64 { return p.Size / 1_000_000 }

// copyProgram copies the program under the name of its hash; it becomes that of the host when it
// has arrived whole. What did not is removed, so that a full disk has its room again. Everything that
// is put in place has a name of its own until then: another command may do the same at the same time.
func (c *Cluster) copyProgram(ctx context.Context, w *work) error {
	at, p := pathsOf(w.Host), c.opts.Program
	f, err := os.Open(p.Path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	own := at.bin() + "/" + p.name()
	script := fmt.Sprintf(`set -e; umask 022; mkdir -p %[1]s
if [ -x %[2]s ] && [ "$(sha256sum <%[2]s | cut -c1-64)" = %[3]s ]; then cat >/dev/null; else
new=%[2]s.new.$$; trap 'rm -f "$new"' EXIT
cat >"$new"; [ "$(sha256sum <"$new" | cut -c1-64)" = %[3]s ] || { echo "the program did not arrive whole" >&2; exit 1; }
chmod 755 "$new"; mv -f "$new" %[2]s; fi
ln -sfn %[4]s %[5]s.new.$$; mv -fT %[5]s.new.$$ %[5]s`, at.bin(), own, p.SHA256, p.name(), at.program())
	_, err = c.remote.Run(ctx, w.Host, "copying the program", script, f)
	return err
}

// settleTime bounds how long an interrupted command goes on.
const settleTime = 15 * time.Second

// settle records on the hosts how far they came, also where a daemon failed: the next apply then
// restarts only what this one did not. An interrupted command takes the time to record it, too.
func (c *Cluster) settle(ctx context.Context, todo map[string]*work) {
	if ctx.Err() != nil {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		ctx = own
	}
	var g errgroup.Group
	g.SetLimit(c.opts.Parallel)
	for _, p := range c.plan.Hosts {
		w := todo[p.Host.Name]
		if !w.given {
			continue
		}
		g.Go(func() error {
			if err := c.finish(ctx, w); err != nil && !c.failed(p) {
				c.fail(p, err)
			}
			return nil
		})
	}
	_ = g.Wait() // the work returns none
}

// finish records what the host was given and its daemons run with. When none is left to start, it
// removes former programs; the previous ones stay for processes that still run them.
func (c *Cluster) finish(ctx context.Context, w *work) error {
	at := pathsOf(w.Host)
	m, err := w.list(w.Services, w.reached())
	if err != nil {
		return err
	}
	script := "set -e; umask 022\n" + intoPlace(m)
	complete := len(w.start)+len(w.again) == 0
	if complete {
		keep := append(slices.Sorted(maps.Values(w.found.running)), w.found.program, c.opts.Program.name())
		for i := range keep {
			keep[i] = shellwords.Quote(keep[i])
		}
		script += fmt.Sprintf("\ncd %s; for f in pigeon-????????????????; do case $f in %s) ;; *) rm -f \"$f\" ;; esac; done", at.bin(), strings.Join(keep, "|"))
	}
	_, err = c.remote.Run(ctx, w.Host, "writing the list of what it has", script, bytes.NewReader(m.data))
	if err == nil && complete {
		c.on(w.HostPlan, func(r *HostResult) { r.State = Changed })
	}
	return err
}

// intoPlace returns the lines of a script that write its standard input to the path of a file, which
// has its former text until the new one is there whole: a connection that is lost looks like the
// end of the input. A write that fails leaves nothing else.
func intoPlace(f File) string {
	return fmt.Sprintf(`new=%[1]s.new.$$; trap 'rm -f "$new"' EXIT; cat >"$new"
[ "$(wc -c <"$new")" -eq %[2]d ] || { echo "%[1]s did not arrive whole" >&2; exit 1; }
mv -f "$new" %[1]s`, f.Path, len(f.data))
}

// reached returns the files of the plan as the list of the host shall have them: without the sum
// where a daemon still has to be started with them.
func (w *work) reached() []File {
	list := slices.Clone(w.Files)
	for i := range list {
		if slices.ContainsFunc(list[i].Of, func(r hosts.Role) bool { return serviceOf(w.start, r) != nil || serviceOf(w.again, r) != nil }) {
			list[i].SHA256 = ""
		}
	}
	return list
}

// archiveOf returns files as tar takes them, with paths below the root. The same files make the
// same archive.
func archiveOf(p *HostPlan, files []File) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		head := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: int64(f.Mode), Size: int64(len(f.data)), ModTime: time.Unix(1, 0), Uname: "root", Gname: "root"}
		if f.daemons && p.Host.ServiceManager == hosts.Systemd {
			head.Gname = daemonUser
		}
		if err := w.WriteHeader(head); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
