package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
)

// onDisk starts a frontend, a master and a node as processes, the frontend on a disk with
// faults.
func onDisk(t *testing.T, faults string) *cluster.Cluster {
	t.Helper()
	return start(t, cluster.Spec{
		Groups: []int{1}, Slots: 4, Isolation: cluster.Process, Dir: t.TempDir(), Env: []string{"PIGEON_CHAOS=1"},
		Configure: func(config any) {
			if c, ok := config.(*frontend.Config); ok {
				c.JournalFaults = faults
			}
		},
	})
}

// accept submits jobs of one task until one is refused, and returns the keys of those that
// were acknowledged, and the refusal.
func accept(t *testing.T, c *cluster.Cluster, most int) (keys []string, refused error) {
	t.Helper()
	s := scheduler(t, c.Frontends()[0])
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	for i := range most {
		key := fmt.Sprint("job-", i)
		task := api.Task{Payload: api.Payload{Backend: api.BackendSleep, Sleep: time.Millisecond}}
		if _, _, err := s.Submit(ctx, &api.Request{Backend: api.BackendSleep, Key: key, Tasks: []api.Task{task}}); err != nil {
			return keys, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// completed waits until the jobs are completed.
func completed(t *testing.T, c *cluster.Cluster, keys []string) {
	t.Helper()
	s := scheduler(t, c.Frontends()[0])
	for _, key := range keys {
		var got api.Status
		var err error
		await.Until(t, "the acknowledged "+key+" is completed", func() bool {
			got, err = s.Wait(t.Context(), key, time.Second)
			return err == nil && got.State == api.StateCompleted
		}, func() string { return fmt.Sprintf("%+v, %v", got, err) })
	}
}

// A frontend whose disk fails ends with the reason, and acknowledges nothing that is not
// on it: started again on a good disk it has every job that it acknowledged.
func TestFrontendOnAFailingDisk(t *testing.T) {
	t.Parallel()
	for _, faults := range []string{"write-error-after=300", "fsync-error-after=60"} {
		t.Run(faults, func(t *testing.T) {
			c := onDisk(t, faults)
			keys, refused := accept(t, c, 100_000)
			if refused == nil || len(keys) == 0 {
				t.Fatalf("%d jobs were accepted, then: %v", len(keys), refused)
			}
			select {
			case err := <-c.Failed():
				if !strings.Contains(err.Error(), "its store failed") || !strings.Contains(err.Error(), "input/output error") {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(await.Limit):
				t.Fatal("it did not end")
			}
			path := filepath.Join(c.Dir(), "config", c.Name(cluster.Frontend, 0)+".yaml")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			good := regexp.MustCompile("(?m)^journal_faults: .*$").ReplaceAll(text, []byte(`journal_faults: ""`))
			if err := os.WriteFile(path, good, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.Restart(cluster.Frontend, 0); err != nil {
				t.Fatal(err)
			}
			completed(t, c, keys)
		})
	}
}

// A frontend whose disk becomes full refuses new jobs but completes the accepted ones,
// and keeps running; on a slow disk it is only slower.
func TestFrontendOnAFullOrSlowDisk(t *testing.T) {
	t.Parallel()
	const minFree = 256 << 20
	c := onDisk(t, fmt.Sprint("enospc-after=", minFree+200_000))
	keys, refused := accept(t, c, 100_000)
	if e, ok := errors.AsType[*api.Error](refused); !ok || e.Problem != api.Busy || !strings.Contains(e.What, "must stay free") || len(keys) == 0 {
		t.Fatalf("after %d jobs: %v", len(keys), refused)
	}
	completed(t, c, keys)
	select {
	case err := <-c.Failed():
		t.Fatal(err)
	default:
	}

	c = onDisk(t, "slow=20ms")
	keys, refused = accept(t, c, 10)
	if refused != nil {
		t.Fatal(refused)
	}
	completed(t, c, keys)
}
