package refusals

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline of a driver on a loaded machine. The promise to users, ten seconds from
// the driver's start, is logged, by the driver's own clock: no test asserts speed.
const deadline = 10 * time.Minute

// refusal is bad input and the error for it.
type refusal struct {
	name  string
	job   func(w *world) sparktest.Job
	parts [4]string // what happened, to what, what was tried, what to do next: all in one line
}

// world is the cluster that all cases share, and its defects.
type world struct {
	t     *testing.T
	c     *sparktest.Cluster
	spark sparktest.Spark
}

func TestRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("real Sparks take minutes; leave -short out")
	}
	w := &world{t: t, spark: sparktest.Find(t, sparktest.Line)}
	w.c = sparktest.Start(t, sparktest.Options{Frontends: 2})
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			w := &world{t, w.c, w.spark}
			d := w.c.Run(t, w.spark, r.job(w))
			w.refused(t, d, r)
			w.c.Clean(t)
		})
	}
}

// refused checks the output of a driver.
func (w *world) refused(t *testing.T, d *sparktest.Driver, r refusal) {
	t.Helper()
	var line string
	sparktest.Await(t, "it says "+strings.Join(r.parts[:], " ... "), deadline, func() bool {
		line = lineWith(said(d), r.parts)
		return line != ""
	}, d)
	if after, timed := since(said(d), line); timed {
		t.Logf("after %v: %s", after, line)
	} else {
		t.Log(line)
	}
	if status := d.Wait(t, deadline); status == 0 {
		t.Error("it ends with status 0")
	}
}

// said returns all output that a user sees: Python's errors are on Java's stdout.
func said(d *sparktest.Driver) string { return d.Stderr() + d.Stdout() }

// lineWith returns the first line that has all of the parts, "" when none has.
func lineWith(text string, parts [4]string) string {
	for line := range strings.Lines(text) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// clock begins a line of Spark's log.
var clock = regexp.MustCompile(`(?m)^(\d\d/\d\d/\d\d \d\d:\d\d:\d\d) `)

// since is the time from Spark's first line to the last one up to line.
func since(text, line string) (time.Duration, bool) {
	head, _, _ := strings.Cut(text, line)
	stamps := clock.FindAllStringSubmatch(head+line, -1)
	if len(stamps) == 0 {
		return 0, false
	}
	first, err1 := time.Parse("06/01/02 15:04:05", stamps[0][1])
	last, err2 := time.Parse("06/01/02 15:04:05", stamps[len(stamps)-1][1])
	return last.Sub(first), err1 == nil && err2 == nil
}

// TestReaders: the readers of output above find what they look for.
func TestReaders(t *testing.T) {
	text := "26/11/21 07:45:17 INFO A: begins\nno clock here\n26/11/21 07:45:22 WARN B: what to whom tried next\n  at x\n"
	line := lineWith(text, [4]string{"what", "whom", "tried", "next"})
	if after, timed := since(text, line); !timed || after != 5*time.Second || !strings.Contains(line, "WARN B") {
		t.Errorf("%q %v %v", line, after, timed)
	}
	if lineWith(text, [4]string{"what", "whom", "tried", "begins"}) != "" {
		t.Error("the parts stand in two lines")
	}
	if _, timed := since("nothing", "thing"); timed {
		t.Error("there is no clock")
	}
}

// home makes a folder that looks like an installation of Spark with this jar.
func (w *world) home(jar string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	err := os.Mkdir(filepath.Join(dir, "jars"), 0o755)
	if jar != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "jars", jar), nil, 0o600))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// count is the application, with its settings.
func (w *world) count(conf ...string) sparktest.Job {
	w.t.Helper()
	return sparktest.Job{Script: w.script("count.py"), Conf: conf}
}

func (w *world) script(name string) string {
	w.t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		w.t.Fatal(err)
	}
	return path
}
