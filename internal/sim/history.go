package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// step is one step of a core: its input and its actions.
type step struct {
	h    *host
	now  sched.Time
	from sched.Addr
	msg  sched.Message
	out  []sched.Action
}

// recordStep appends a step to the history.
func (w *world) recordStep(h *host, now sched.Time, from sched.Addr, m *sched.Message, out []sched.Action) {
	w.history = append(w.history, step{h, now, from, *m, slices.Clone(out)})
}

// formatHistory returns the steps from the given one on as text: the input of each core,
// and below it the actions.
func (w *world) formatHistory(from int) string {
	var b strings.Builder
	for i := range w.history[from:] {
		s := &w.history[from+i]
		sender := s.from.String()
		if s.from == (sched.Addr{}) {
			sender = "shell"
		}
		fmt.Fprintf(&b, "%s <- %s: %s\n", s.h.p.daemonID, sender, sched.Describe(&s.msg))
		for k := range s.out {
			fmt.Fprintf(&b, "    %s\n", sched.DescribeAction(&s.out[k]))
		}
	}
	return b.String()
}

// replay steps fresh cores with the recorded inputs. Their actions must be the same.
func (w *world) replay() {
	fresh := map[*host]sched.Core{}
	var out sched.Actions
	for i := range w.history {
		s := &w.history[i]
		core := fresh[s.h]
		if core == nil {
			core = s.h.newCore()
			fresh[s.h] = core
		}
		out.Reset()
		m := s.msg
		core.Step(s.now, s.from, &m, &out)
		if !same(s.out, out.List()) {
			w.check.mustf(checkSame, false, "%s, at %s: the same inputs gave %s, then %s", s.h.p.daemonID, sched.Describe(&s.msg), describe(s.out), describe(out.List()))
			return
		}
	}
	w.check.mustf(checkSame, true, "")
}

func same(a, b []sched.Action) bool {
	return slices.EqualFunc(a, b, func(x, y sched.Action) bool { return sched.DescribeAction(&x) == sched.DescribeAction(&y) })
}

func describe(list []sched.Action) []string {
	lines := make([]string, len(list))
	for i := range list {
		lines[i] = sched.DescribeAction(&list[i])
	}
	return lines
}
