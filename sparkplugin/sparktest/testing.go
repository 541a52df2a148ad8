package sparktest

import (
	"errors"
	"os"
	"testing"
	"time"
)

// Line is the line of Spark that CI installs, on which tests run that try one only.
const Line = "4.3"

// Find returns a Spark of the line ("4.1"), or skips the test; in CI it fails, if CI
// installs that line.
func Find(t testing.TB, line string) Spark {
	t.Helper()
	s, err := Locate(line)
	if err == nil {
		return s
	}
	if os.Getenv("CI") == "true" && line == Line {
		t.Fatalf("CI has no Spark %s: %v", line, err)
	}
	t.Skipf("Spark %s is left out: %v", line, err)
	return s
}

// Start starts a cluster that ends with the test.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Name == "" {
		o.Name = t.Name()
	}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(t.Failed()); err != nil {
			t.Errorf("the cluster did not end cleanly: %v", err)
		}
		if t.Failed() {
			t.Logf("the logs of daemons and drivers are kept in %s", c.Dir())
		}
	})
	return c
}

// Run starts an application. If it still runs at the end of the test, it is killed.
func (c *Cluster) Run(t testing.TB, s Spark, j Job) *Driver {
	t.Helper()
	d, err := c.Submit(s, j)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Kill()
		if t.Failed() {
			t.Logf("driver %s, status %d, stdout:\n%s\nstderr ends:\n%s", d.Name, d.Status(), d.Stdout(), d.Tail(6000))
		}
	})
	return d
}

// Wait is [Driver.End] for a test: the driver must end within the time.
func (d *Driver) Wait(t testing.TB, within time.Duration) int {
	t.Helper()
	status, err := d.End(within)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// Await polls until the condition holds. It fails the test when the time is over, or
// when one of the drivers ends first.
func Await(t testing.TB, what string, within time.Duration, holds func() bool, drivers ...*Driver) {
	t.Helper()
	err := poll(within, func() error {
		if holds() {
			return nil
		}
		for _, d := range drivers {
			if d.Ended() && !holds() {
				return final{errors.New("driver " + d.Name + " has ended before")}
			}
		}
		return errors.New("it does not hold yet")
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// cleanWithin is how long Clean waits: the lease of a driver that was killed is
// 15 s, and an executor has 5 s to stop.
const cleanWithin = time.Minute

// Clean fails the test if something of the applications that ended is left: a
// process, a grant, a busy slot, a folder. A paused or killed daemon must run again.
func (c *Cluster) Clean(t testing.TB) {
	t.Helper()
	if err := c.Leftovers(cleanWithin); err != nil {
		t.Errorf("%v after the applications ended there is left: %v", cleanWithin, err)
	}
}
