package applications

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

func allocation(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, s, featureJob("allocation.py", mode,
		"spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.shuffleTracking.enabled=true",
		"spark.dynamicAllocation.minExecutors=0", "spark.dynamicAllocation.maxExecutors=2", "spark.executor.cores=2",
		"spark.dynamicAllocation.executorIdleTimeout=2s", "spark.dynamicAllocation.schedulerBacklogTimeout=1s"))
	wellEnded(t, d)
	same(t, d, "= before 0", "= work 276 2", "= after 0", "= again 276 2")
	c.Clean(t)
}

func request(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, s, featureJob("request.py", mode, "spark.executor.instances=2", "spark.executor.cores=1"))
	wellEnded(t, d)
	same(t, d, "= two 4950", "= one 4950 True", "= two again 4950 True")
	c.Clean(t)
}

// The nodes of the cluster have their own addresses, and so are separate hosts to Spark.
func speculation(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, s, featureJob("speculation.py", mode, "spark.speculation=true", "spark.speculation.quantile=0.5",
		"spark.speculation.multiplier=1.5", "spark.speculation.interval=100ms"))
	wellEnded(t, d)
	lines := said(d.Stdout())
	holds(t, "there are two answers", len(lines) == 2)
	contains(t, lines[0], "(3, 1)") // the second attempt of task 3
	equal(t, "= after [(0, 273), (1, 247), (2, 260)]", lines[1])
	c.Clean(t)
}

// shuffled waits until the script fetch.py has written its shuffle.
func shuffled(t *testing.T, d *sparktest.Driver) {
	t.Helper()
	sparktest.Await(t, "the shuffle is written", patience, func() bool {
		_, err := os.Stat(filepath.Join(d.Folder, "shuffled"))
		return err == nil
	}, d)
}

// taken lets the script continue, and checks its answers.
func taken(t *testing.T, c *sparktest.Cluster, d *sparktest.Driver) {
	t.Helper()
	noError(t, os.WriteFile(filepath.Join(d.Folder, "taken"), nil, 0o644))
	wellEnded(t, d)
	same(t, d, "= before 50 7998000", "= after 50 7998000")
	c.Clean(t)
}

func fetchFailure(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	log, conf := logged(t)
	d := c.Run(t, s, featureJob("fetch.py", mode, append(conf, "spark.shuffle.io.maxRetries=1", "spark.shuffle.io.retryWait=100ms")...))
	shuffled(t, d)
	holds(t, "there was something to remove", removeShuffle(t, c.Executors()[0].Pid) > 0)
	taken(t, c, d)
	again := false
	for _, e := range log.events(t) {
		again = again || e.Event == "SparkListenerStageSubmitted" && e.StageInfo.Attempt > 0
	}
	holds(t, "a stage was repeated", again)
}

// removeShuffle removes the shuffle files of an executor, and returns how many.
func removeShuffle(t *testing.T, pid int) (n int) {
	t.Helper()
	folder, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	noError(t, err)
	noError(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), "shuffle_") {
			n++
			err = os.Remove(path)
		}
		return err
	}))
	return n
}

func executorLost(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, s, featureJob("fetch.py", mode))
	shuffled(t, d)
	killed := c.Executors()[0]
	noError(t, killed.Kill())
	sparktest.Await(t, "another executor is there in its place", patience, func() bool {
		list := c.Executors()
		return len(list) == 2 && list[0].ID != killed.ID && list[1].ID != killed.ID
	}, d)
	taken(t, c, d)
}
