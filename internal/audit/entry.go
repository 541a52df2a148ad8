package audit

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Decision is a decision about a request.
type Decision struct {
	Principal identity.Principal
	Remote    string // address of the caller, "" when it is not known
	Action    string // what was asked for: a method, or an action of package access
	On        string // the object of the request: a job, a node; "" for the daemon as a whole
	Refusal   error  // nil: it was allowed
	// Reads is set if the action changes nothing. Such a decision is written only if it is a
	// refusal.
	Reads bool
}

// Entry is one line of the log. The keys only gain.
type Entry struct {
	Time       string `json:"time"`   // RFC 3339 with nanoseconds, UTC, by this machine's clock
	Daemon     string `json:"daemon"` // that decided
	Name       string `json:"name"`   // of the principal; "" if unknown
	Role       string `json:"role"`
	Proof      string `json:"proof"`                // kernel, certificate, token, listener, insecure; "" for none
	Credential string `json:"credential,omitempty"` // id of the token, serial number of the certificate
	Owner      string `json:"owner,omitempty"`      // the owner to which the listener is bound
	Remote     string `json:"remote,omitempty"`
	Action     string `json:"action"`
	On         string `json:"on,omitempty"`
	Allowed    bool   `json:"allowed"`
	Reason     string `json:"reason,omitempty"` // of a refusal
	// Missing is how many lines could not be written since the one before.
	Missing uint64 `json:"missing,omitempty"`
}

// mostText bounds each text of an entry, bytes: a caller chooses some of them.
const mostText = 512

func cut(text string) string { return api.Clip(text, mostText) }

func entry(daemon string, d *Decision, now time.Time, missing uint64) Entry {
	e := Entry{
		Time: now.UTC().Format(time.RFC3339Nano), Daemon: daemon, Name: cut(d.Principal.Name), Role: string(d.Principal.Role), Proof: string(d.Principal.Proof),
		Credential: cut(d.Principal.Credential), Owner: cut(d.Principal.Owner), Remote: d.Remote, Action: cut(d.Action), On: cut(d.On), Allowed: d.Refusal == nil, Missing: missing,
	}
	if d.Refusal != nil {
		e.Reason = cut(d.Refusal.Error())
	}
	return e
}
