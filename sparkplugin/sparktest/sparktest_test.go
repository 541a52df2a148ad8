package sparktest_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLook: of several installations of a line the newest is taken, and a missing
// one is named with the command that installs it.
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
		homes + "/9.9.0/bin/spark-submit", homes + "/9.9.0/jars/spark-core_2.13-9.9.0.jar",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := sparktest.Locate("4.1"); s.Version != "4.1.10" || err != nil && !strings.Contains(err.Error(), "make spark") {
		t.Errorf("%+v %v", s, err)
	}
	for line, says := range map[string]string{"4.2": "make spark-wheels LINES=4.2", "9.9": "no plugin for Spark 9.9", "3": "make spark-wheels"} {
		if s, err := sparktest.Locate(line); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v %v", line, s, err)
		}
	}
	t.Setenv("JAVA_HOME", homes)
	if _, err := sparktest.Locate("4.1"); err == nil || !strings.Contains(err.Error(), "Java") {
		t.Errorf("without Java: %v", err)
	}
}

// TestLeftovers: processes of a driver that ended are seen, and so is a daemon that is
// missing, until it runs again.
func TestLeftovers(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a cluster; leave -short out")
	}
	c := sparktest.Start(t, sparktest.Options{Nodes: 3, Masters: 2, Slots: 1, Memory: 700})
	c.Clean(t)
	if s, err := c.Status(2); err != nil || s.Memory.Total != 700 || len(s.Slots) != 1 || s.Busy() != 0 {
		t.Errorf("%+v %v", s, err)
	}
	d := c.Run(t, sparktest.Spark{}, sparktest.Job{Command: []string{"sh", "-c", "sleep 1000 & exit 7"}})
	if status := d.Wait(t, time.Minute); status != 7 || !d.Ended() {
		t.Errorf("status %d", status)
	}
	says := func(what string) {
		t.Helper()
		if err := c.Leftovers(0); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
	says("sleep 1000")
	d.Kill()
	c.Clean(t)
	if err := c.Kill(sparktest.NodeMonitor, 2); err != nil {
		t.Fatal(err)
	}
	says("nodemonitor 2")
	if err := c.Restart(sparktest.NodeMonitor, 2); err != nil {
		t.Fatal(err)
	}
	c.Clean(t)
}

// TestDriver: the input and the output of a driver; one that is paused waits.
func TestDriver(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a cluster; leave -short out")
	}
	t.Setenv("SPARK_CONF_DIR", "of the user")
	c := sparktest.Start(t, sparktest.Options{Nodes: 1})
	d := c.Run(t, sparktest.Spark{Jar: "the jar"}, sparktest.Job{
		Command: []string{"sh", "-c", `read x; echo "$x $PIGEON_SPARK_JAR $OWN$SPARK_CONF_DIR" | tee /dev/stderr; exec sleep 1000`},
		Env:     []string{"OWN=own"}, Stdin: "typed\n",
	})
	sparktest.Await(t, "it has said it", time.Minute, func() bool { return d.Stdout() == "typed the jar own\n" && d.Tail(4) == "own\n" }, d)
	if d.Status() != -1 {
		t.Errorf("status %d while it lives", d.Status())
	}
	if _, err := d.End(time.Millisecond); err == nil || !strings.Contains(err.Error(), "typed") {
		t.Errorf("it has ended: %v", err)
	}
	if err := d.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	d.Kill()
	if d.Status() != 128+9 {
		t.Errorf("status %d", d.Status())
	}
}

// TestHarness: an application runs to its end on a cluster of processes, its executors are seen
// while they live, and so are leftovers. Spark divides the local files of the executor on the first
// node among two disks.
func TestHarness(t *testing.T) {
	if testing.Short() {
		t.Skip("a real Spark takes half a minute; leave -short out")
	}
	spark := sparktest.Find(t, sparktest.Line)
	disks := []string{t.TempDir(), t.TempDir()}
	nodes := 0
	c := sparktest.Start(t, sparktest.Options{Configure: func(config any) {
		if n, ok := config.(*nodemonitor.Config); ok {
			if nodes++; nodes == 1 {
				n.LocalDirs = disks
			}
		}
	}})
	d := c.Run(t, spark, sparktest.Job{Script: script(t), Args: []string{"20"}, Conf: []string{"spark.executor.instances=2"}})
	sparktest.Await(t, "both executors run, the first one with files on both disks", 2*time.Minute, func() bool {
		return len(c.Executors()) == 2 && len(localFiles(t, disks[0])) > 0 && len(localFiles(t, disks[1])) > 0
	}, d)
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
	sparktest.Await(t, "the local files are removed", time.Minute, func() bool {
		return len(localFiles(t, disks[0]))+len(localFiles(t, disks[1])) == 0
	})
}

// localFiles returns the folders in which Spark keeps local files on a disk.
func localFiles(t *testing.T, disk string) (folders []string) {
	t.Helper()
	err := filepath.WalkDir(disk, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err == nil && strings.HasPrefix(e.Name(), "blockmgr-") {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// TestNoDriverIsLeft: a driver and its children die with the process that started
// it, also when that is killed.
func TestNoDriverIsLeft(t *testing.T) {
	if os.Getenv("SPARKTEST_DIES") != "" {
		startAndDie(t)
	}
	if testing.Short() {
		t.Skip("it starts a cluster; leave -short out")
	}
	told := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoDriverIsLeft$")
	cmd.Env = append(os.Environ(), "SPARKTEST_DIES="+told)
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.Success() {
		t.Fatalf("it did not die: %v %s", err, out)
	}
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	sparktest.Await(t, "the driver's child is gone", time.Minute, func() bool {
		args, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/cmdline") // none when it is gone
		return len(args) == 0
	})
}

// startAndDie is the process that is killed.
func startAndDie(t *testing.T) {
	t.Helper()
	c, err := sparktest.Open(t.Context(), sparktest.Options{Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Submit(sparktest.Spark{}, sparktest.Job{Command: []string{"sh", "-c", "sleep 1000 & echo $!; wait"}})
	if err != nil {
		t.Fatal(err)
	}
	sparktest.Await(t, "it has told its child", time.Minute, func() bool { return d.Stdout() != "" }, d)
	if err := os.WriteFile(os.Getenv("SPARKTEST_DIES"), []byte(d.Stdout()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {}
}

func script(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "sum.py"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
