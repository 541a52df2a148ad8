// Package doctor checks a machine the way Pigeon will use it, and reports problems
// before they occur.
//
// Each check tries the thing itself (binds the address, syncs a file, waits for a
// timer) and leaves nothing behind. A check never returns an error: what it
// cannot determine is a finding too.
package doctor

import (
	"context"
	"sync"
)

// Status of a finding.
type Status string

// The three outcomes of a check.
const (
	Good Status = "good" // nothing to do
	Warn Status = "warn" // works, with the limit that was found
	Bad  Status = "bad"  // something that Pigeon needs does not work
)

// Finding is what one check found.
type Finding struct {
	Check  string `json:"check"`            // name of the check
	Status Status `json:"status"`           // good, warn or bad
	Found  string `json:"found"`            // what was tried and seen
	Advice string `json:"advice,omitempty"` // what to do
}

// Check is one check of the machine.
type Check struct {
	Name string
	Run  func(context.Context) Finding
}

// Options describe the use of the machine.
type Options struct {
	TempDir string   // where journals and test files would go
	Ports   []Port   // that daemons listen on by default
	NATS    string   // address of a NATS server, host:port
	Nodes   []string // loopback addresses that nodes of a local cluster take
	Folders []Folder // of journals, and of what tasks write
	Host    *Host    // whose settings and daemons are checked, too, if they are installed; nil: none
}

// Port is an address a daemon wants.
type Port struct {
	Address string // host:port
	Use     string // the daemon that listens there
}

// Folder is one that a daemon uses.
type Folder struct {
	Path  string
	Use   string             // the daemon
	Check func(string) error // what the daemon itself checks at its start and while it runs
}

// Checks returns all checks in the order shown.
func Checks(o Options) []Check {
	checks := []Check{
		{"machine", machine},
		{"open files", openFiles},
		{"loopback addresses", func(ctx context.Context) Finding { return loopback(ctx, o.Nodes) }},
		{"ports", func(ctx context.Context) Finding { return ports(ctx, o.Ports) }},
		{"nats", func(ctx context.Context) Finding { return nats(ctx, o.NATS) }},
		{"disk", func(context.Context) Finding { return disk(o.TempDir) }},
		{"disk space", func(context.Context) Finding { return space(o.TempDir) }},
		{"folders", func(context.Context) Finding { return folders(o.Folders) }},
		{"timers", timers},
	}
	if o.Host != nil && o.Host.Installed() {
		checks = append(checks, o.Host.checks()...)
	}
	return checks
}

// Run makes all checks at the same time, which mostly wait (for timers, a disk, an answer), and
// reports the findings in the order of the checks, each once it and those before it are there. It
// ends early with ctx, and returns the worst status.
func Run(ctx context.Context, checks []Check, report func(Finding) error) (Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	findings := make([]chan Finding, len(checks))
	for i, c := range checks {
		findings[i] = make(chan Finding, 1)
		running.Go(func() {
			f := c.Run(ctx)
			f.Check = c.Name
			findings[i] <- f
		})
	}
	worst := Good
	for _, finding := range findings {
		var f Finding
		select {
		case f = <-finding:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return worst, ctx.Err()
		}
		if f.Status == Bad || worst == Good {
			worst = f.Status
		}
		if err := report(f); err != nil {
			return worst, err
		}
	}
	return worst, nil
}
