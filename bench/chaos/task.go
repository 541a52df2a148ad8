package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
)

// TaskVerb is the hidden verb of a task that writes its history.
const TaskVerb = "chaos-task"

// aliveEvery is the time between two lines of a running task.
const aliveEvery = 200 * time.Millisecond

// TaskMain is the program of a task: it sleeps, and writes its history to the file of its
// node in a folder. The arguments are the folder and the duration.
func TaskMain(args []string) int {
	if err := runTask(args); err != nil {
		fmt.Fprintf(os.Stderr, "pigeon %s: %v\n", TaskVerb, err)
		return 1
	}
	return 0
}

func runTask(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("it takes a folder and a duration, not %d arguments; `pigeon-bench chaos` starts it", len(args))
	}
	lasts, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	// Its working folder is one of the folder of its job, which has the name of the job's id.
	e := history.Event{Job: os.Getenv("PIGEON_JOB"), ID: filepath.Base(filepath.Dir(folder)), Node: os.Getenv("PIGEON_NODE"), Pid: os.Getpid()}
	for name, to := range map[string]*int{"PIGEON_TASK": &e.Task, "PIGEON_ATTEMPT": &e.Attempt, "PIGEON_SLOT": &e.Slot} {
		if *to, err = strconv.Atoi(os.Getenv(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	file, err := os.OpenFile(filepath.Join(args[0], e.Node+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // every write was checked
	write := func(what string) error {
		e.Event, e.Time = what, Now()
		return history.Append(file, e)
	}
	if err := write(history.Start); err != nil {
		return err
	}
	for end := Now() + lasts.Nanoseconds(); ; {
		left := time.Duration(end - Now())
		time.Sleep(max(0, min(left, aliveEvery)))
		if left <= aliveEvery {
			return write(history.End)
		}
		if err := write(history.Runs); err != nil {
			return err
		}
	}
}
