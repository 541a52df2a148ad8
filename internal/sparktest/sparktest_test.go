package sparktest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/sparktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLook: of several installations of a line the newest is taken, and what is
// missing is named with the command that installs it.
func TestLook(t *testing.T) {
	homes := t.TempDir()
	t.Setenv(sparktest.HomesVariable, homes)
	java := filepath.Join(homes, "java")
	t.Setenv("JAVA_HOME", java)
	for _, path := range []string{
		java + "/bin/java",
		homes + "/4.1.9/bin/spark-submit", homes + "/4.1.9/jars/spark-core_2.13-4.1.9.jar",
		homes + "/4.1.10/lib/python3.9/site-packages/pyspark/bin/spark-submit",
		homes + "/4.1.10/lib/python3.9/site-packages/pyspark/jars/spark-core_2.13-4.1.10.jar",
		homes + "/4.2.0/jars/spark-core_2.13-4.2.0.jar", // not whole
		homes + "/4.3.0/bin/spark-submit", homes + "/4.3.0/jars/spark-core_2.13-4.3.0.jar",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := sparktest.Look("4.1"); s.Version != "4.1.10" || err != nil && !strings.Contains(err.Error(), "make spark") {
		t.Errorf("%+v %v", s, err)
	}
	for line, says := range map[string]string{"4.2": "make spark-wheels LINES=4.2", "4.3": "no plugin for Spark 4.3", "3": "make spark-wheels"} {
		if s, err := sparktest.Look(line); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v %v", line, s, err)
		}
	}
	t.Setenv("JAVA_HOME", homes)
	if _, err := sparktest.Look("4.1"); err == nil || !strings.Contains(err.Error(), "Java") {
		t.Errorf("without Java: %v", err)
	}
}

// TestHarness: an application runs to its end on a cluster of processes, its
// executors are seen while they live, and what is left over is.
func TestHarness(t *testing.T) {
	if testing.Short() {
		t.Skip("a real Spark takes half a minute; leave -short out")
	}
	spark := sparktest.Find(t, "4.1")
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, spark, sparktest.Job{Script: script(t), Args: []string{"20"}, Conf: []string{"spark.executor.instances=2"}})
	sparktest.Await(t, "both executors run", 2*time.Minute, func() bool { return len(c.Executors()) == 2 }, d)
	for i, x := range c.Executors() {
		if x.Node != i || x.App == "" || x.Pid == 0 {
			t.Errorf("executor %d: %+v", i, x)
		}
	}
	if err := c.Leftovers(0); err == nil || !strings.Contains(err.Error(), "process") || !strings.Contains(err.Error(), "folder") {
		t.Errorf("while it runs there is nothing left: %v", err)
	}
	if status := d.Wait(t, 3*time.Minute); status != 0 || strings.TrimSpace(d.Stdout()) != "190" {
		t.Errorf("status %d, %q", status, d.Stdout())
	}
	c.Clean(t)
}

func script(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "sum.py"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
