package jobs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

const (
	// drawEvery is how often the progress of a job is drawn on a terminal, and writeEvery how often
	// a line about it is written elsewhere.
	drawEvery, writeEvery = 500 * time.Millisecond, 10 * time.Second
	// barWidth is the width of the bar, so that the whole line fits in 80 columns.
	barWidth = 20
	// queuedAfter is how long a job of 'run' waits before its user is told why.
	queuedAfter = time.Second
)

// waitWithProgress waits for the end of a job and shows how far it has come.
func waitWithProgress(ctx context.Context, job *client.Job, out io.Writer) (api.Status, error) {
	p := cli.NewProgress(out)
	p.Every = writeEvery
	defer p.Clear()
	step := writeEvery
	if p.Terminal {
		step = drawEvery
	}
	began := time.Now()
	for {
		s, err := job.WaitFor(ctx, step)
		if err != nil || s.State.Ended() {
			return s, err
		}
		took := time.Since(began).Round(time.Second)
		if p.Terminal {
			p.Linef("%s %s, %v", bar(&s), counts(&s), took)
		} else {
			p.Linef("job %s: %s after %v", s.Job, counts(&s), took)
		}
	}
}

// counts returns how many tasks of a job have ended and how many run.
func counts(s *api.Status) string {
	line := fmt.Sprintf("%d of %d done, %d running", s.Completed+s.Failed, s.Tasks, s.Running)
	if s.Failed > 0 {
		line += fmt.Sprintf(", %d failed", s.Failed)
	}
	return line
}

// bar draws which part of a job's tasks have ended (#) and run (>).
func bar(s *api.Status) string {
	tasks := max(s.Tasks, 1)
	ended := (s.Completed + s.Failed) * barWidth / tasks
	run := min((s.Completed+s.Failed+s.Running)*barWidth/tasks, barWidth) - ended
	return "[" + strings.Repeat("#", ended) + strings.Repeat(">", max(run, 0)) + strings.Repeat(".", barWidth-ended-max(run, 0)) + "]"
}

// queueNotice tells the user of a job that it waits and why, once it has waited for a moment, and
// that it has started after that.
type queueNotice struct {
	out   io.Writer
	began time.Time // when the job was accepted
	told  bool
	over  bool // there is nothing more to report
}

// observe is given each state of the job.
func (n *queueNotice) observe(ctx context.Context, job *client.Job, s *api.Status) {
	waited := time.Since(n.began)
	switch {
	case n.over:
	case s.State != api.StateQueued:
		if n.over = true; n.told {
			fmt.Fprintf(n.out, "pigeon: job %s is %s after %.1f s\n", job.ID, s.State, waited.Seconds())
		}
	case !n.told && waited >= queuedAfter:
		e, err := job.Explain(ctx)
		if err != nil || e.Status.State != api.StateQueued {
			return // the next state shows more
		}
		n.told = true
		_ = cli.PrintTo(n.out, "pigeon: job %s is queued: %s\n", job.ID, cmp.Or(waitReasons(e), "no reason is known yet."))
	}
}

// waitReasons returns the sentences of an explanation that say why the job waits: those after
// the counts, without those about its class and its owner.
func waitReasons(e *api.Explanation) string {
	var why []string
	for i, sentence := range e.Why {
		if i > 0 && !isAboutTheJob(e, sentence) {
			why = append(why, sentence)
		}
	}
	return strings.Join(why, " ")
}

// isAboutTheJob reports whether a sentence describes the job and not why it waits.
func isAboutTheJob(e *api.Explanation, sentence string) bool {
	return e.ClassReason != "" && strings.Contains(sentence, e.ClassReason) || strings.HasPrefix(sentence, "It runs for ")
}
