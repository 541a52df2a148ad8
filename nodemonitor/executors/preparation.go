package executors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/staging"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	reachTimeout = 3 * time.Second
	fetchTimeout = time.Minute // of all files together
	rotations    = 3           // files of an output kept beside the newest
)

// preparation finds and makes everything that the process of an executor needs. It runs
// without the lock; the template of an application does not change.
type preparation struct {
	cfg     *Config
	roots   []string // for local files
	x       *executor
	address func() string // returns the address of the application's frontend
	home    string        // of the runtime
	java    string        // the home of Java
	account *accounts.Account
}

// run returns how to start the process, or why it cannot run here.
func (p *preparation) run(ctx context.Context) (guard.Spec, *end) {
	t := &p.x.app.Template
	for _, step := range []func() *end{
		p.findAccount, p.findRuntime, p.findJava, func() *end { return p.reach(ctx) }, func() *end { return p.fetch(ctx) }, p.makeFolder,
	} {
		if refused := step(); refused != nil {
			return guard.Spec{}, refused
		}
	}
	locals, refused := p.makeLocals()
	if refused != nil {
		return guard.Spec{}, refused
	}
	s := guard.Spec{As: p.account.As, Env: p.cfg.Accounts.Environment(p.account, inherited()...), Dir: p.x.folder, Stdout: p.x.output("stdout"), Stderr: p.x.output("stderr"), Limit: p.cfg.OutputLimit, Rotations: rotations, Limits: p.x.limits(p.cfg)}
	for _, a := range t.Argv {
		s.Argv = append(s.Argv, api.Expand(a, p.value))
	}
	for _, e := range t.Env {
		s.Env = append(s.Env, api.Expand(e, p.value))
	}
	if locals != "" {
		s.Env = append(s.Env, locals) // in place of the application's: only the node knows its disks
	}
	return s, nil
}

// value returns what a placeholder of the template stands for.
func (p *preparation) value(name, argument string) string {
	x := p.x
	switch name {
	case "EXECUTOR_ID":
		return x.id
	case "APP_ID":
		return x.app.ID
	case "HOSTNAME":
		return p.cfg.Host
	case "SLOTS":
		return strconv.Itoa(x.slots)
	case "FOLDER":
		return x.folder
	case "RUNTIME":
		return p.home
	case "FILE":
		return filepath.Join(x.folder, argument)
	case "NODE":
		return p.cfg.Address
	case "TOKEN":
		return x.token
	case "JAVA_HOME":
		return p.java
	case "LOG_STDOUT":
		return x.state.Stdout // never changes
	case "LOG_STDERR":
		return x.state.Stderr
	}
	return "" // the template was checked
}

// reach connects once to the address that the executor will connect to: a process that
// cannot would end minutes later, with a reason that names no setting.
func (p *preparation) reach(ctx context.Context) *end {
	t := &p.x.app.Template
	if t.Reach == "" {
		return nil
	}
	dialer := net.Dialer{Timeout: reachTimeout}
	c, err := dialer.DialContext(ctx, "tcp", t.Reach)
	if err == nil {
		_ = c.Close() // nothing was sent
		return nil
	}
	next := "give an address of the application's host that this node can reach"
	if t.ReachSetting != "" {
		next = fmt.Sprintf("set %s to an address of the application's host that this node can reach", t.ReachSetting)
	}
	return p.x.refusal(fmt.Sprintf("the node cannot connect to the application at %s: %v", t.Reach, err), "connecting before its start", next)
}

// fetch fetches the files that are not here yet from the application's frontend.
func (p *preparation) fetch(ctx context.Context) *end {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for _, f := range p.x.app.Template.Files {
		if err := staging.Fetch(ctx, p.cfg.Files, f, func() (wire.FileKeeper, error) { return p.cfg.Fetch(p.address()) }); err != nil {
			refused := p.x.refusal(fmt.Sprintf("its file %q is not here: %v", f.Name, err), "fetching it from its frontend", "register the application again, so that the file is sent")
			_, refused.forNow = errors.AsType[*client.CallError](err) // another frontend will take the application over
			return refused
		}
	}
	return nil
}
