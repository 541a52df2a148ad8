package cluster_test

import (
	"context"
	"crypto/tls"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// secured returns a client of a cluster's first frontend by TLS.
func secured(t *testing.T, c *cluster.Cluster) *wire.SchedulerClient {
	t.Helper()
	security, err := c.Security()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := client.New(client.Options{Name: "frontend", Address: c.Frontends()[0], Security: security, CallTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return wire.NewSchedulerClient(pool)
}

// sleeps runs a job of sleep tasks to its end.
func sleeps(ctx context.Context, s *wire.SchedulerClient, key string, tasks int) (api.Status, error) {
	r := &api.Request{Backend: api.BackendSleep, Key: key, Class: "short", Tasks: make([]api.Task, tasks)}
	for i := range r.Tasks {
		r.Tasks[i].Payload = api.Payload{Backend: api.BackendSleep, Sleep: time.Millisecond}
	}
	id, _, err := s.Submit(ctx, r)
	if err != nil {
		return api.Status{}, err
	}
	return s.Wait(ctx, id, time.Minute)
}

// TestClustersByMutualTLS: under policies that call each way (masters launch; frontends and nodes call
// each other; both) a cluster whose every call goes by mutual TLS runs jobs.
func TestClustersByMutualTLS(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"pigeon", "pigeon-x", "sparrow", "eagle"} {
		t.Run(policy, func(t *testing.T) {
			c := start(t, cluster.Spec{Groups: []int{2, 2}, Slots: 3, Frontends: 2, Policy: policy, TLS: true, Reserved: 0.2})
			s := secured(t, c)
			for i := range 3 {
				got, err := sleeps(t.Context(), s, "job-"+strconv.Itoa(i), 20)
				if err != nil || got.State != api.StateCompleted || got.Completed != 20 {
					t.Fatalf("%+v, %v", got, err)
				}
			}
		})
	}
}

// TestCertificatesAreRenewedUnderLoad: every daemon uses its new certificate without a restart, and no
// attempt is lost or made twice meanwhile.
func TestCertificatesAreRenewedUnderLoad(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{2, 1}, Slots: 4, Frontends: 1, TLS: true})
	s := secured(t, c)
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var jobs atomic.Int64
	for w := range 4 {
		load.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				got, err := sleeps(t.Context(), s, strconv.Itoa(w)+"-"+strconv.Itoa(k), 10)
				if err != nil || got.State != api.StateCompleted || got.Attempts != 10 {
					t.Errorf("%+v, %v", got, err)
					return
				}
				jobs.Add(1)
			}
		})
	}
	defer load.Wait()
	defer stop()
	before := serial(t, c)
	if err := c.RenewCertificates(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the new certificate is used", func() bool { return serial(t, c) != before })
	since := jobs.Load()
	await.Until(t, "jobs go on", func() bool { return jobs.Load() > since+8 || t.Failed() })
}

// serial returns the number of the certificate that the first frontend shows.
func serial(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	conn, err := tls.Dial("tcp", c.Frontends()[0], &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}
