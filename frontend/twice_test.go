package frontend_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Whatever a frontend that was killed has sent out, and whatever ends while it is away, each
// attempt starts once, and no running task is started a second time under another number.
func TestKilledFrontendStartsNothingTwice(t *testing.T) {
	for _, spec := range restartPolicies {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			w, _, f := clusterOf(t, spec, 2)
			ran := t.TempDir()
			var jobs []string
			for i := range 10 { // more than run at a time
				r := script(fmt.Sprint("job-", i), fmt.Sprintf(`mktemp "$1/%d-$PIGEON_ATTEMPT.XXXXXX"; sleep 0.7`, i), ran)
				jobs = append(jobs, w.submit(f, r))
			}
			w.awaitFiles(ran, 4)
			f.process.Stop()
			if strings.HasPrefix(spec, "pigeon") || strings.HasPrefix(spec, "kairos") {
				w.awaitFiles(ran, 6) // some have ended meanwhile, and a master has launched others
			}
			f = w.runFrontend(f.cfg)
			for _, id := range jobs {
				w.done(f, id)
			}
			w.startedOnce(ran, len(jobs))
		})
	}
}

// A master that was killed and restarted with tasks queued and running: nothing is started
// twice.
func TestKilledMasterStartsNothingTwice(t *testing.T) {
	for _, spec := range restartPolicies {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			w, m, f := clusterOf(t, spec, 2)
			ran := t.TempDir()
			var jobs []string
			for i := range 10 {
				r := script(fmt.Sprint("job-", i), fmt.Sprintf(`mktemp "$1/%d-$PIGEON_ATTEMPT.XXXXXX"; sleep 0.7`, i), ran)
				jobs = append(jobs, w.submit(f, r))
			}
			w.awaitFiles(ran, 4)
			w.restart(m)
			for _, id := range jobs {
				w.done(f, id)
			}
			w.startedOnce(ran, len(jobs))
		})
	}
}

// startedOnce checks the files <task>-<attempt>.<start> of a folder: each of that many tasks
// was started once.
func (w *world) startedOnce(folder string, tasks int) {
	w.t.Helper()
	byTask := map[string]string{}
	for _, name := range fileNames(w.t, folder) {
		task, _, _ := strings.Cut(name, "-")
		if other, twice := byTask[task]; twice {
			w.t.Errorf("task %s was started as %s and as %s", task, other, name)
		}
		byTask[task] = name
	}
	if len(byTask) != tasks {
		w.t.Errorf("%d tasks of %d were started: %v", len(byTask), tasks, byTask)
	}
}

func fileNames(t testing.TB, folder string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
