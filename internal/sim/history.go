package sim

import (
	"fmt"
	"reflect"
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

// history holds the steps of all cores.
type history struct{ steps []step }

// record appends a step to the history.
func (hi *history) record(h *host, now sched.Time, from sched.Addr, m *sched.Message, out []sched.Action) {
	hi.steps = append(hi.steps, step{h, now, from, *m, slices.Clone(out)})
}

// format returns the steps from the given one on as text: the input of each core, and
// below it the actions.
func (hi *history) format(from int) string {
	var b strings.Builder
	for i := range hi.steps[from:] {
		hi.steps[from+i].write(&b)
	}
	return b.String()
}

func (s *step) write(b *strings.Builder) {
	sender := s.from.String()
	if s.from == (sched.Addr{}) {
		sender = "shell"
	}
	fmt.Fprintf(b, "%8.3f s  %s <- %s: %s\n", s.now.Seconds(), s.h.p.daemonID, sender, sched.Describe(&s.msg))
	for k := range s.out {
		fmt.Fprintf(b, "    %s\n", sched.DescribeAction(&s.out[k]))
	}
}

// lastOf returns the last steps whose text contains the word, "" for no word.
func (hi *history) lastOf(word string, steps int) string {
	if word == "" {
		return ""
	}
	var found []string
	for i := len(hi.steps) - 1; i >= 0 && len(found) < steps; i-- {
		var b strings.Builder
		if hi.steps[i].write(&b); strings.Contains(b.String(), word) {
			found = append(found, b.String())
		}
	}
	slices.Reverse(found)
	return strings.Join(found, "")
}

// last returns the last steps as text.
func (hi *history) last(steps int) string { return hi.format(max(0, len(hi.steps)-steps)) }

// replay steps fresh cores with the recorded inputs. Their actions must be the same.
func (hi *history) replay(check *checker) {
	fresh := map[*host]sched.Core{}
	var out sched.Actions
	for i := range hi.steps {
		s := &hi.steps[i]
		core := fresh[s.h]
		if core == nil {
			core = s.h.newCore()
			fresh[s.h] = core
		}
		out.Reset()
		m := s.msg
		core.Step(s.now, s.from, &m, &out)
		if !same(s.out, out.List()) {
			check.mustf(checkSame, false, "%s, at %s: the same inputs gave %s, then %s", s.h.p.daemonID, sched.Describe(&s.msg), describe(s.out), describe(out.List()))
			return
		}
	}
	check.mustf(checkSame, true, "")
}

// same reports whether actions are equal, or read alike: an empty list and none are the same.
func same(a, b []sched.Action) bool {
	return slices.EqualFunc(a, b, func(x, y sched.Action) bool {
		return reflect.DeepEqual(x, y) || sched.DescribeAction(&x) == sched.DescribeAction(&y)
	})
}

func describe(list []sched.Action) []string {
	lines := make([]string, len(list))
	for i := range list {
		lines[i] = sched.DescribeAction(&list[i])
	}
	return lines
}
