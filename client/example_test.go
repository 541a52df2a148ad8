package client_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cluster"
)

// A job of two programs is submitted to a cluster and followed to its end. A program of its own names
// the frontends of its cluster; this example has one in the same process.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	own, err := cluster.Start(ctx, cluster.Spec{Groups: []int{1}, Slots: 2, Frontends: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = own.Close() }() // the example has ended

	c, err := client.New(client.Options{Addresses: own.Frontends(), Timeout: 10 * time.Second, Retry: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }() // it only closes connections

	job, _, err := c.Submit(ctx, client.Programs([]string{"echo", "hello"}, []string{"sh", "-c", "exit 3"}))
	if err != nil {
		log.Fatal(err)
	}
	status, err := client.Follow(ctx, job, []*client.Output{client.WriteTo(os.Stdout, job, 0, "stdout")}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.State, status.Completed, status.Failed)
	why, err := job.Explain(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(why.Failed) // the numbers of the tasks that failed
	// Output:
	// hello
	// failed 1 1
	// 1
}
