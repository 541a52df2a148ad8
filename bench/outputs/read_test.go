package outputs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// kept is an output that a node has, read in pieces of three bytes.
type kept struct {
	text    string
	missing int64 // bytes at its beginning that the node does not have
	err     error
}

func (k *kept) TaskLog(_ context.Context, r wire.LogRequest) (wire.LogChunk, error) {
	rest := k.text[min(r.Offset, int64(len(k.text))):]
	return wire.LogChunk{Data: []byte(rest[:min(3, len(rest))]), Size: int64(len(k.text)), Missing: k.missing, Ended: true}, k.err
}

// An output counts as whole when it is what the task wrote, no byte less and none more.
func TestReadOneComparesWholeOutputs(t *testing.T) {
	gone := &api.Error{Problem: api.NotFound, What: "removed", Subject: "output"}
	for name, c := range map[string]struct {
		bytes  int64
		output kept
		want   state
	}{
		"as written":           {8, kept{text: "12\n12\n12"}, whole},
		"cut":                  {8, kept{text: "12\n12"}, other},
		"written twice":        {6, kept{text: strings.Repeat("12\n", 4)}, other},
		"longer by a byte":     {6, kept{text: "12\n12\n1"}, other},
		"of another task":      {6, kept{text: "13\n13\n"}, other},
		"without its middle":   {6, kept{text: "12\n12\n", missing: 3}, other},
		"nothing, as written":  {0, kept{}, whole},
		"nothing, and removed": {0, kept{err: gone}, removed},
		"removed":              {8, kept{err: gone}, removed},
		"text where none was":  {0, kept{text: "12\n"}, other},
	} {
		o := &Options{Bytes: c.bytes}
		if got, err := o.readOne(t.Context(), &c.output, "job", 12); got != c.want || err != nil {
			t.Errorf("%s: %d, %v, want %d", name, got, err, c.want)
		}
	}
	fault := errors.New("no answer")
	if _, err := (&Options{Bytes: 8}).readOne(t.Context(), &kept{err: fault}, "job", 12); !errors.Is(err, fault) {
		t.Errorf("%v, want %v", err, fault)
	}
}
