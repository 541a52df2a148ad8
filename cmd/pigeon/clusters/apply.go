package clusters

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// work is the work to do on a host.
type work struct {
	*HostPlan
	*difference
	found found
}

// Apply gives the hosts the parts of their plans that they lack, and makes their daemons run.
// A host that runs another program is refused: that is an upgrade. The error joins those of
// the hosts that failed; all others are as planned then.
func (c *Cluster) Apply(ctx context.Context) error {
	return c.bring(ctx, func(w *work) error {
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
// restarted one after another, role by role. One that does not come back ends the upgrade;
// completed steps stay, and the upgrade continues there when it is repeated.
func (c *Cluster) Upgrade(ctx context.Context) error {
	return c.bring(ctx, func(w *work) error {
		if w.found.program == "" || !w.difference.program {
			return nil
		}
		out, err := c.remote.Run(ctx, w.Host, "asking the program there for its version", pathsOf(w.Host).program()+" version -o json", nil)
		if err != nil {
			return err
		}
		running, err := versionIn([]byte(out))
		if err != nil {
			return fmt.Errorf("host %q: %w", w.Host.Name, err)
		}
		return c.opts.Program.follows(w.Host.Name, running)
	})
}

// bring makes all hosts as planned; allowed refuses one.
func (c *Cluster) bring(ctx context.Context, allowed func(*work) error) error {
	todo := make(map[string]*work, len(c.plan.Hosts))
	for _, p := range c.plan.Hosts {
		todo[p.Host.Name] = &work{HostPlan: p}
	}
	c.each(ctx, c.plan.Hosts, func(ctx context.Context, p *HostPlan) error {
		began := time.Now()
		w := todo[p.Host.Name]
		err := c.compare(ctx, w)
		if err == nil {
			err = allowed(w)
		}
		if err == nil && !w.none() {
			err = c.give(ctx, w)
		}
		c.on(p, func(r *HostResult) { r.Seconds += time.Since(began).Seconds() })
		return err
	})
	if err := c.roll(ctx, todo); err != nil {
		return errors.Join(err, c.failure())
	}
	c.each(ctx, c.plan.Hosts, func(ctx context.Context, p *HostPlan) error {
		if w := todo[p.Host.Name]; !w.none() {
			return c.finish(ctx, w)
		}
		return nil
	})
	return c.failure()
}

func (c *Cluster) compare(ctx context.Context, w *work) (err error) {
	if w.found, err = c.probe(ctx, w.HostPlan); err != nil {
		return err
	}
	if w.difference, err = differs(w.HostPlan, &w.found, c.opts.Program); err != nil {
		return err
	}
	if !w.none() {
		c.on(w.HostPlan, func(r *HostResult) { r.State, r.Changes = Changed, w.words() })
	}
	return nil
}

// give copies the program and the files to a host, and stops daemons that it should no longer
// have.
func (c *Cluster) give(ctx context.Context, w *work) error {
	at, do := pathsOf(w.Host), commands{w.Host}
	if w.difference.program {
		c.opts.Say(fmt.Sprintf("%s: copying the program (%d MB)", w.Host.Name, w.size(c.opts.Program)))
		if err := c.copyProgram(ctx, w); err != nil {
			return err
		}
	}
	for _, s := range w.stop {
		if _, err := c.remote.Run(ctx, w.Host, "stopping its "+s.Role.Verb(), do.stop(s), nil); err != nil {
			return err
		}
	}
	c.opts.Say(w.Host.Name + ": " + strings.Join(w.words(), ", "))
	archive, err := archiveOf(w.HostPlan, w.files)
	if err != nil {
		return err
	}
	script := []string{"set -e", "umask 022", do.account(), "mkdir -p " + strings.Join([]string{at.etc(), at.bin(), at.lib(), at.run(), at.logs()}, " ")}
	if owner := ""; len(w.files) > 0 {
		if !do.systemd() {
			owner = " --no-same-owner"
		}
		script = append(script, "tar -xpf - -C /"+owner)
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
// has arrived whole.
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
cat >%[2]s.new; [ "$(sha256sum <%[2]s.new | cut -c1-64)" = %[3]s ] || { echo "the program did not arrive whole" >&2; exit 1; }
chmod 755 %[2]s.new; mv -f %[2]s.new %[2]s; fi
ln -sfn %[4]s %[5]s.new; mv -fT %[5]s.new %[5]s`, at.bin(), own, p.SHA256, p.name(), at.program())
	_, err = c.remote.Run(ctx, w.Host, "copying the program", script, f)
	return err
}

// finish records what the host was given, now that its daemons run with it, and removes
// former programs; the previous one stays for processes that still run it.
func (c *Cluster) finish(ctx context.Context, w *work) error {
	at := pathsOf(w.Host)
	m, err := w.manifest()
	if err != nil {
		return err
	}
	keep := c.opts.Program.name()
	if w.found.program != "" {
		keep += "|" + w.found.program
	}
	script := fmt.Sprintf(`set -e; umask 022; cat >%[1]s.new; mv -f %[1]s.new %[1]s
cd %[2]s; for f in pigeon-????????????????; do case $f in %[3]s) ;; *) rm -f "$f" ;; esac; done`, m.Path, at.bin(), keep)
	_, err = c.remote.Run(ctx, w.Host, "writing the list of what it has", script, bytes.NewReader(m.data))
	return err
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
