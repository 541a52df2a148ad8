package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// endsWithin bounds a workload of a few seconds on a machine that is busy with other
// things: it distinguishes a lost job from a late one before the patience of the test binary
// does, and which job it is.
const endsWithin = 3 * time.Minute

// replayed runs the workload on a cluster of processes. When some of its jobs do not
// end, the test fails with what the cluster reports about them.
func replayed(t *testing.T, c *cluster.Cluster, w *workload.Workload, o Options) *Replayed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endsWithin)
	defer cancel()
	o.Frontends, o.Failed = c.Frontends(), c.Failed()
	got, err := Run(ctx, w, o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Outcome.Facts.Partial {
		t.Fatalf("after %v not every job has ended\n%s", endsWithin, unended(t, c, w, got))
	}
	return got
}

// unended returns why some jobs have not ended, and the state of the groups.
func unended(t *testing.T, c *cluster.Cluster, w *workload.Workload, got *Replayed) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var text strings.Builder
	add := func(what string, v any, err error) {
		b, failure := json.Marshal(v)
		fmt.Fprintf(&text, "%s: %s %v %v\n", what, b, err, failure)
	}
	shown := 0
	for i, address := range c.Frontends() {
		pool, err := client.New(client.Options{Address: address})
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		s := wire.NewSchedulerClient(pool)
		groups, err := s.Nodes(ctx)
		add(fmt.Sprintf("frontend %d sees groups", i), groups, err)
		for job := range w.Jobs {
			line := w.Jobs[job].Line
			if got.Outcome.Jobs[job].Ended || line%len(c.Frontends()) != i || shown == 20 {
				continue
			}
			shown++
			why, err := s.Explain(ctx, fmt.Sprint(line))
			add(fmt.Sprintf("job %d", line), why, err)
		}
	}
	return text.String()
}

// keptDir is a folder for a cluster's logs and histories that stays when the test fails.
func keptDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pigeon-test-") //nolint:usetesting // it is to stay when the test fails
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of its daemons are kept in %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
