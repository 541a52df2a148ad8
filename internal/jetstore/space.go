package jetstore

import (
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Codes of the server, where the library has no names for them.
const (
	accountExceeded  jetstream.ErrorCode = 10002
	noSuitablePeers  jetstream.ErrorCode = 10005
	insufficient     jetstream.ErrorCode = 10023
	storageExceeded  jetstream.ErrorCode = 10047
	noReplication    jetstream.ErrorCode = 10074
	storeFailed      jetstream.ErrorCode = 10077
	streamStoreFails jetstream.ErrorCode = 10049
)

// OutOfSpace reports whether JetStream has refused something because its folder, its limit
// or the stream's is full.
func OutOfSpace(err error) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return false
	}
	switch e.ErrorCode {
	case accountExceeded, insufficient, storageExceeded:
		return true
	case noSuitablePeers, storeFailed, streamStoreFails:
		text := strings.ToLower(e.Description)
		for _, sign := range []string{"storage", "no space", "maximum bytes", "maximum messages", "resource"} {
			if strings.Contains(text, sign) {
				return true
			}
		}
	}
	return false
}

// Explain turns a refusal of JetStream into one that says what to do; others stay.
func (s *Store) Explain(err error, tried string) error {
	if err == nil {
		return nil
	}
	refusal := &api.Error{Problem: api.Busy, Subject: s.subject(), What: err.Error(), Tried: tried + " for " + s.opts.Name}
	e, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case OutOfSpace(err):
		refusal.What = "JetStream is out of space: " + err.Error()
		refusal.Next = "free or add space where the servers keep streams (store_dir), or raise their max_file_store (pigeon nats --max-store)"
	case e != nil && e.ErrorCode == noReplication:
		refusal.Problem = api.Invalid
		refusal.Next = "start a cluster of three servers (pigeon nats --cluster-name), or set nats_replicas: 1 and lose what is kept with its machine"
	default:
		return err
	}
	return refusal
}
