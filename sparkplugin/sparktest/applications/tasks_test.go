package applications

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// One class for both jobs, or the long one would give way when its tasks show to be long.
func pools(t *testing.T, s sparktest.Spark, mode string) {
	for scheduling, expected := range map[string]string{
		"FAIR": "= ended ('short', 8) ('long', 40)",
		"FIFO": "= ended ('long', 40) ('short', 8)",
	} {
		t.Run(scheduling, func(t *testing.T) {
			c := sparktest.Start(t, sparktest.Options{})
			d := c.Run(t, s, featureJob("pools.py", mode, "spark.pigeon.class=short", "spark.scheduler.mode="+scheduling))
			wellEnded(t, d)
			equal(t, []string{expected}, said(d.Stdout()))
			c.Clean(t)
		})
	}
}

// Of an application that is long; the lines of Connect are there where its Python has gRPC.
func classesOfQueries(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	job := featureJob("classes.py", mode, "spark.pigeon.class=long", "spark.pigeon.pool.quick.class=short", "spark.sql.adaptive.enabled=false")
	job.Args = []string{"http://" + c.HTTP(cluster.Frontend, 0)}
	d := c.Run(t, s, job)
	wellEnded(t, d)
	expected := []string{
		"= application long",
		"= spark.pigeon.class rdd short", "= spark.pigeon.class dataframe short",
		"= spark.scheduler.pool rdd short", "= spark.scheduler.pool dataframe short",
		"= afterwards long",
		"= SET short", "= another session long", "= RESET long",
		"= JDBC long", "= JDBC pool short", "= JDBC SET short",
		"= Connect long", "= Connect SET short",
	}
	answers := said(d.Stdout())
	if len(answers) == len(expected)-2 {
		expected = expected[:len(answers)]
	}
	equal(t, expected, answers)
	c.Clean(t)
}

func cancellation(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, s, featureJob("cancel.py", mode))
	wellEnded(t, d)
	equal(t, []string{
		"= cancelled [True] False",
		"= next [(0, 19800), (1, 19900), (2, 20000), (3, 20100)]",
	}, said(d.Stdout()))
	c.Clean(t)
}

func taskCPUs(t *testing.T, s sparktest.Spark, mode string) {
	type cpus struct {
		conf []string
		most int
	}
	tries := map[string]cpus{
		"two cores":         {[]string{"spark.task.cpus=2", "spark.executor.cores=2"}, 2},
		"cores of the node": {[]string{"spark.task.cpus=2"}, 4},
	}
	if s.Line() == "4.3" {
		tries["a decimal, five cores"] = cpus{[]string{"spark.task.cpus=1.5", "spark.executor.cores=5"}, 4}
		tries["a decimal, cores of the node"] = cpus{[]string{"spark.task.cpus=1.5"}, 4}
	}
	for name, try := range tries {
		t.Run(name, func(t *testing.T) {
			c := sparktest.Start(t, sparktest.Options{})
			job := featureJob("spans.py", mode, try.conf...)
			job.Args = []string{"12", "0.5"}
			d := c.Run(t, s, job)
			wellEnded(t, d)
			list := spans(t, d)
			equal(t, 12, len(list))
			holds(t, "no slot was used twice", atOnce(list) <= try.most)
			c.Clean(t)
		})
	}
}

// span is when a task ran by its own clock, in seconds.
type span [2]float64

// spans are what the script spans.py prints.
func spans(t *testing.T, d *sparktest.Driver) (list []span) {
	t.Helper()
	lines := said(d.Stdout())
	holds(t, "there is one answer", len(lines) == 1)
	noError(t, json.Unmarshal([]byte(strings.TrimPrefix(lines[0], "= spans ")), &list))
	return list
}

// atOnce is the largest number of tasks that ran at the same time.
func atOnce(list []span) (most int) {
	type edge struct {
		at   float64
		more int
	}
	var edges []edge
	for _, s := range list {
		edges = append(edges, edge{s[0], 1}, edge{s[1], -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.more, b.more)) })
	running := 0
	for _, e := range edges {
		running += e.more
		most = max(most, running)
	}
	return most
}

func TestAtOnce(t *testing.T) {
	equal(t, 2, atOnce([]span{{0, 2}, {1, 3}, {2, 4}, {5, 6}}))
	equal(t, 3, atOnce([]span{{0, 9}, {1, 3}, {2, 4}}))
	equal(t, 0, atOnce(nil))
}

// Two drivers with more tasks than the cluster has slots.
func sharing(t *testing.T, s sparktest.Spark, mode string) {
	const tasks = "60"
	c := sparktest.Start(t, sparktest.Options{})
	job := featureJob("spans.py", mode)
	job.Args = []string{tasks, "0.4"}
	one, two := c.Run(t, s, job), c.Run(t, s, job)
	wellEnded(t, one)
	wellEnded(t, two)
	x, y := spans(t, one), spans(t, two)
	equal(t, 60, len(x))
	equal(t, 60, len(y))
	holds(t, "no slot was used twice", atOnce(append(slices.Clone(x), y...)) <= 4)
	holds(t, "both had slots at the same time", amid(x, y)+amid(y, x) >= 10)
	c.Clean(t)
}

// amid counts the tasks of x that ended between the first start and the last end of y.
func amid(x, y []span) (n int) {
	first, last := y[0][0], y[0][1]
	for _, s := range y {
		first, last = min(first, s[0]), max(last, s[1])
	}
	for _, s := range x {
		if s[1] > first && s[1] < last {
			n++
		}
	}
	return n
}

func taskFailures(t *testing.T, s sparktest.Spark, mode string) {
	for how, expected := range map[string]struct {
		status int
		said   []string
		in     string // of stderr
	}{
		"once":   {0, []string{"= sum 28"}, "attempt 0 went wrong"},
		"always": {1, nil, "failed 4 times"},
		"status": {7, []string{"= sum 28"}, ""},
	} {
		t.Run(how, func(t *testing.T) {
			c := sparktest.Start(t, sparktest.Options{})
			job := featureJob("failures.py", mode)
			job.Args = []string{how}
			d := c.Run(t, s, job)
			equal(t, expected.status, d.Wait(t, patience))
			equal(t, expected.said, said(d.Stdout()))
			contains(t, d.Stderr(), expected.in)
			c.Clean(t)
		})
	}
}

func barrier(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, s, featureJob("barrier.py", mode))
	status := d.Wait(t, patience)
	if mode == coarse {
		equal(t, 0, status)
		same(t, d, "= met [(4, 4950), (4, 4950), (4, 4950), (4, 4950)]")
	} else {
		equal(t, 1, status)
		contains(t, d.Stderr(), "Barrier stages do not run in Pigeon's mode grants")
		contains(t, d.Stderr(), "spark.pigeon.mode=coarse")
	}
	c.Clean(t)
}
