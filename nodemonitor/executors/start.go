package executors

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

const (
	reachTimeout = 3 * time.Second
	fetchTimeout = time.Minute // of all files together
	rotations    = 3           // files of an output kept beside the newest
)

// start prepares an executor and starts its process. It runs without the lock; the
// template of an application does not change.
func (k *Keeper) start(ctx context.Context, x *executor) {
	spec, refused := k.prepare(ctx, x)
	if refused == nil && !x.app.Grants {
		refused = k.hold(ctx, x)
	}
	if refused != nil {
		k.ended(x, *refused)
		return
	}
	if x.app.Grants {
		k.cfg.Table.Admit(x.app.ID, x.id, x.token)
	}
	k.mu.Lock()
	var err error
	stopped := x.stopping != ""
	if !stopped {
		x.began = time.Now()
		x.handle, err = k.cfg.Guard.Start(spec, func(e guard.Event) { k.event(x, e) })
		x.process = err == nil
	}
	k.mu.Unlock()
	switch {
	case stopped:
		k.ended(x, end{reason: "it was stopped before it began"})
	case err != nil:
		k.ended(x, k.refusal(x, "its process was not started: "+err.Error(), "starting it", "raise the node's max_processes, or wait for other processes to end"))
	}
}

// prepare finds and makes everything that the process needs.
func (k *Keeper) prepare(ctx context.Context, x *executor) (guard.Spec, *end) {
	t := &x.app.Template
	var home, java string
	var refused *end
	steps := []func(){
		func() { home, refused = k.runtime(x, t.Runtime) },
		func() {
			if t.Uses("JAVA_HOME") {
				java, refused = k.java(x, t.Env)
			}
		},
		func() { refused = k.reach(ctx, x, t) },
		func() { refused = k.fetch(ctx, x, t.Files) },
		func() { refused = k.makeFolder(x, t.Files) },
	}
	for _, step := range steps {
		if step(); refused != nil {
			return guard.Spec{}, refused
		}
	}
	value := k.values(x, home, java)
	s := guard.Spec{Dir: x.folder, Stdout: x.output("stdout"), Stderr: x.output("stderr"), Limit: k.cfg.OutputLimit, Rotations: rotations}
	for _, a := range t.Argv {
		s.Argv = append(s.Argv, api.Expand(a, value))
	}
	for _, e := range t.Env {
		s.Env = append(s.Env, api.Expand(e, value))
	}
	return s, nil
}

// values returns what the placeholders of a template stand for.
func (k *Keeper) values(x *executor, home, java string) func(name, argument string) string {
	return func(name, argument string) string {
		switch name {
		case "EXECUTOR_ID":
			return x.id
		case "APP_ID":
			return x.app.ID
		case "HOSTNAME":
			return k.cfg.Host
		case "SLOTS":
			return strconv.Itoa(x.slots)
		case "FOLDER":
			return x.folder
		case "RUNTIME":
			return home
		case "FILE":
			return filepath.Join(x.folder, argument)
		case "NODE":
			return k.cfg.Address
		case "TOKEN":
			return x.token
		case "JAVA_HOME":
			return java
		case "LOG_STDOUT":
			return x.state.Stdout // never changes
		case "LOG_STDERR":
			return x.state.Stderr
		}
		return "" // the template was checked
	}
}

// reach connects once to the address that the executor will connect to: a process that
// cannot would end minutes later, with a reason that names no setting.
func (k *Keeper) reach(ctx context.Context, x *executor, t *api.Template) *end {
	if t.Reach == "" {
		return nil
	}
	dialer := net.Dialer{Timeout: reachTimeout}
	c, err := dialer.DialContext(ctx, "tcp", t.Reach)
	if err == nil {
		_ = c.Close() // nothing was said
		return nil
	}
	next := "give an address of the application's host that this node can reach"
	if t.ReachSetting != "" {
		next = fmt.Sprintf("set %s to an address of the application's host that this node can reach", t.ReachSetting)
	}
	e := k.refusal(x, fmt.Sprintf("the node cannot connect to the application at %s: %v", t.Reach, err), "connecting before its start", next)
	return &e
}

// fetch gets the files that are not here yet from the application's frontend.
func (k *Keeper) fetch(ctx context.Context, x *executor, list []api.File) *end {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for _, f := range list {
		if err := k.fetchFile(ctx, x, f); err != nil {
			e := k.refusal(x, fmt.Sprintf("its file %q is not here: %v", f.Name, err), "fetching it from its frontend", "register the application again, so that the file is sent")
			return &e
		}
	}
	return nil
}

func (k *Keeper) fetchFile(ctx context.Context, x *executor, f api.File) error {
	if err := k.cfg.Files.Expect(f); err != nil || k.cfg.Files.Has(f.SHA256) {
		return err
	}
	k.mu.Lock()
	address := x.app.address
	k.mu.Unlock()
	from, err := k.cfg.Fetch(address)
	if err != nil {
		return err
	}
	have, err := k.cfg.Files.Put(f.SHA256, -1, nil) // another executor may have begun
	for err == nil && !k.cfg.Files.Has(f.SHA256) {
		piece, failed := from.FilePiece(ctx, f.SHA256, have, api.MaxPiece)
		if failed != nil {
			return failed
		}
		if len(piece.Data) == 0 {
			return fmt.Errorf("the frontend has %d bytes of it, and %d were announced", piece.Size, f.Size)
		}
		have, err = k.cfg.Files.Put(f.SHA256, have, piece.Data)
	}
	return err
}

// makeFolder makes the folder of the executor, with its files in it.
func (k *Keeper) makeFolder(x *executor, list []api.File) *end {
	err := os.MkdirAll(x.folder, 0o700)
	for _, f := range list {
		if err == nil {
			err = os.Symlink(k.cfg.Files.Path(f.SHA256), filepath.Join(x.folder, f.Name))
		}
	}
	if err != nil {
		e := k.refusal(x, "its folder cannot be made: "+err.Error(), "making "+x.folder, "free disk space on the node, or give it another work_dir")
		return &e
	}
	return nil
}

// hold waits until the executor has its slots.
func (k *Keeper) hold(ctx context.Context, x *executor) *end {
	full := make(chan struct{})
	k.cfg.Holds.Hold(x.app.ID, x.id, x.slots, func() { close(full) })
	k.mu.Lock()
	x.state.Reason = fmt.Sprintf("it waits for %d slots of node %q", x.slots, k.cfg.Node)
	k.changed()
	k.mu.Unlock()
	select {
	case <-full:
		return nil
	case <-ctx.Done():
		return &end{reason: "it was stopped before it had its slots"}
	}
}
