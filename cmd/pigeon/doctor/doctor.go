// Package doctor tries what has kept daemons from starting, or a cluster from working: what a
// daemon itself checks at its start, and what only a look from outside shows.
//
// A check leaves nothing behind and never returns an error: what it cannot determine is a
// finding too.
package doctor

import "context"

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
	Run  func() Finding
}

// Options describe the use of the machine.
type Options struct {
	Ports   []Port   // that daemons listen on by default
	Folders []Folder // of journals, and of what tasks write
	Host    *Host    // whose settings are checked, too, if daemons are installed; nil: none
}

// Checks returns all checks in the order shown.
func Checks(o Options) []Check {
	checks := []Check{
		{"open files", openFiles},
		{"ports", func() Finding { return ports(o.Ports) }},
		{"folders", func() Finding { return folders(o.Folders) }},
	}
	if o.Host != nil && o.Host.Installed() {
		checks = append(checks,
			Check{"settings", o.Host.settings},
			Check{"readers", o.Host.readers},
			Check{"certificates", o.Host.certificates})
	}
	return checks
}

// Run makes the checks and reports each finding. It ends early with ctx, and returns the worst
// status.
func Run(ctx context.Context, checks []Check, report func(Finding) error) (Status, error) {
	worst := Good
	for _, c := range checks {
		if ctx.Err() != nil {
			return worst, ctx.Err()
		}
		f := c.Run()
		f.Check = c.Name
		if f.Status == Bad || worst == Good {
			worst = f.Status
		}
		if err := report(f); err != nil {
			return worst, err
		}
	}
	return worst, ctx.Err()
}
