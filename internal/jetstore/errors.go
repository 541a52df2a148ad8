package jetstore

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// refuse returns a refusal that only a change by the operator can end.
func (s *Store) refuse(what, tried, next string) error {
	return &api.Error{Problem: api.Invalid, Subject: s.subject(), What: what, Tried: tried + " for " + s.opts.Name, Next: next}
}

func (s *Store) unready(err error, tried string) error {
	return &api.Error{
		Problem: api.NotReady, Subject: s.subject(), What: s.opts.Explain(err), Tried: tried + " for " + s.opts.Name,
		Next: "see that more than half of the NATS servers run and that their disks are neither full nor slow",
	}
}

func (s *Store) foreign(stream, what, next string) error {
	return &api.Error{Problem: api.Invalid, Subject: "stream " + stream, What: what, Tried: "opening it for " + s.opts.Name, Next: next}
}

func (s *Store) tooOld(name, version string) error {
	return s.refuse(fmt.Sprintf("server %s is NATS %s", name, version), "checking the servers", fmt.Sprintf("use NATS %d.%d or newer", leastMajor, leastMinor))
}
