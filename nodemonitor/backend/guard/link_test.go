package guard

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// TestFullSocket: events that the client has not read wait without being lost, and without delay for
// the loop.
func TestFullSocket(t *testing.T) {
	c := client(t)
	const runs = 300
	release := make(chan struct{})
	ended := make(chan Event, runs)
	for range runs {
		// The tails make 1.2 MB, more than a socket takes.
		_, err := c.Start(Spec{Argv: []string{"sh", "-c", "printf '%4096s' x >&2"}, Dir: "/"}, func(e Event) {
			<-release
			if e.Kind.last() {
				ended <- e
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	time.AfterFunc(time.Second, func() { close(release) })
	for range runs {
		select {
		case e := <-ended:
			if e.Kind != Ended || len(e.Tail) != tailBytes {
				t.Fatalf("ended as %+v", e)
			}
		case <-time.After(await.Limit):
			t.Fatal("an end was lost")
		}
	}
}
