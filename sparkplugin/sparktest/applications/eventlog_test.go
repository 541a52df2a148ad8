package applications

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// eventFolder is where an application logs its events.
type eventFolder string

// logged returns a folder, and the settings by which an application logs there.
func logged(t *testing.T) (eventFolder, []string) {
	t.Helper()
	folder := t.TempDir()
	return eventFolder(folder), []string{
		"spark.eventLog.enabled=true", "spark.eventLog.dir=file://" + folder,
		"spark.eventLog.compress=false", "spark.eventLog.rolling.enabled=false",
	}
}

// event has the fields that are read of an event of Spark.
type event struct {
	Event     string
	StageInfo struct {
		Attempt int `json:"Stage Attempt ID"`
	} `json:"Stage Info"`
	TaskInfo struct {
		Executor string `json:"Executor ID"`
		Failed   bool
	} `json:"Task Info"`
	Executor string `json:"Executor ID"`
}

// events are those of the one application, complete.
func (f eventFolder) events(t *testing.T) (list []event) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(string(f), "*"))
	noError(t, err)
	holds(t, "there is one log", len(files) == 1)
	holds(t, "it is complete", filepath.Ext(files[0]) != ".inprogress")
	file, err := os.Open(files[0])
	noError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		noError(t, json.Unmarshal(lines.Bytes(), &e))
		list = append(list, e)
	}
	noError(t, lines.Err())
	return list
}

func eventLog(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	log, conf := logged(t)
	job := featureJob("spans.py", mode, conf...)
	job.Args = []string{"20", "0.05"}
	d := c.Run(t, s, job)
	wellEnded(t, d)
	count, executors := map[string]int{}, map[string]bool{}
	for _, e := range log.events(t) {
		count[e.Event]++
		if e.Event == "SparkListenerTaskEnd" {
			executors[e.TaskInfo.Executor] = true
			equal(t, false, e.TaskInfo.Failed)
		}
	}
	equal(t, 20, count["SparkListenerTaskEnd"])
	equal(t, 2, count["SparkListenerExecutorAdded"])
	equal(t, 1, count["SparkListenerApplicationEnd"])
	holds(t, "tasks ran in these executors", len(executors) <= 2)
	c.Clean(t)
}
