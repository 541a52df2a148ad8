package sim

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// playScript plays a scenario and returns it with the events written below each command.
// The text consists of prose and commands:
//
//	> start 1 W=2 reserved=0.5 nodes="" nodes="",app   one frontend, W, share, and a
//	                                 group for each nodes=: per node a list of the
//	                                 applications it serves, nodes separated by /
//	> submit f job tasks class app   at frontend f; class short, long or undeclared; where tasks
//	                                 are suspended, they can be stopped and run again
//	> deliver                        all messages in flight, and those that they cause
//	> end job/task ...               the backend ends these tasks; =failed fails one
//	> pass 1000ms                    time passes
//	> kill|start node|master|distributor N
//	> lose node N                    its master declares it lost
//	> lose master N at f             frontend f declares the master of group N lost
//	> repeat N                       the last N messages of every link arrive again
//	> drop notices                   all notices in flight are lost
//	> snapshot                       every node sends its snapshot, and repeats reports
//	> cancel job
//	> rest                           all tasks end; the final checks run
//
// Lines that start with > are commands, and the lines that start with four spaces are the
// output of an earlier run, which is replaced. All other lines are prose and are kept.
func playScript(cfg Config, text string) (string, error) {
	s := &script{cfg: cfg, named: map[string]*job{}}
	var b strings.Builder
	for number, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		fmt.Fprintln(&b, line)
		command, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		err := s.run(strings.Fields(command))
		if err == nil {
			b.WriteString(s.plain(s.history.format(s.printed)))
			s.printed = len(s.history.steps)
			err = s.check.err
		}
		if err != nil {
			return b.String(), fmt.Errorf("line %d: %s: %w", number+1, line, err)
		}
	}
	return b.String(), nil
}

type script struct {
	*world
	cfg     Config
	named   map[string]*job
	names   []string
	printed int // steps that are in the output
}

// stepTime is the time before each step of a history.
var stepTime = regexp.MustCompile(`^ *\d+\.\d+ s  `)

// plain indents a history, without its times, and puts jobs' names in the place of their
// ids.
func (s *script) plain(history string) string {
	var b strings.Builder
	for line := range strings.Lines(history) {
		line = stepTime.ReplaceAllString(line, "")
		for _, name := range s.names {
			line = strings.ReplaceAll(line, s.named[name].id.String(), name)
		}
		b.WriteString("    " + line)
	}
	return b.String()
}

func (s *script) run(words []string) error {
	if words[0] == "start" && s.world == nil {
		return s.begin(words[1:])
	}
	if s.world == nil {
		return errors.New("the first command is start")
	}
	verb := words[0]
	switch words = words[1:]; {
	case verb == "submit" && len(words) >= 4:
		return s.submission(words)
	case verb == "deliver":
		s.deliverAll()
	case verb == "end":
		return each(words, s.endTask)
	case verb == "pass" && len(words) == 1:
		return s.pass(words[0])
	case (verb == "kill" || verb == "start") && len(words) == 2:
		return s.daemon(verb, words[0], words[1])
	case verb == "lose":
		return s.lose(words)
	case verb == "repeat" && len(words) == 1:
		n, err := strconv.Atoi(words[0])
		for _, l := range slices.Clone(s.net.links) {
			s.net.repeat(l, n)
		}
		return err
	case verb == "drop":
		s.net.notices = nil
	case verb == "snapshot":
		s.sendSnapshots()
	case verb == "cancel" && len(words) == 1 && s.named[words[0]] != nil:
		s.frontendShells.cancel(s.named[words[0]])
	case verb == "rest":
		s.rest()
	default:
		return errors.New("no such command, or not with these words")
	}
	return nil
}

func each(words []string, f func(string) error) error {
	for _, w := range words {
		if err := f(w); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) begin(words []string) error {
	cfg, f := s.cfg, Faults{manual: true}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		var err error
		switch key {
		case "W":
			cfg.Params.Weight, err = strconv.Atoi(value)
		case "reserved":
			cfg.Params.Reserved, err = strconv.ParseFloat(value, 64)
		case "nodes":
			var group []Node
			for list := range strings.SplitSeq(value, "/") {
				group = append(group, Node{Slots: 1, Serves: strings.Split(strings.ReplaceAll(list, `""`, ""), ",")})
			}
			f.Nodes = append(f.Nodes, group)
		default:
			cfg.Frontends, err = strconv.Atoi(key)
		}
		if err != nil {
			return err
		}
	}
	s.world = newWorld(nil, cfg, f)
	s.startDaemons()
	return nil
}

func (s *script) submission(words []string) error {
	f, err := number(words[0], len(s.frontends))
	if err != nil {
		return err
	}
	tasks, err := strconv.Atoi(words[2])
	if err != nil {
		return err
	}
	m := sched.Message{Kind: sched.Submit, Job: sched.NewJobID("", words[1]), Key: uint64(len(s.names)), Count: int32(tasks)} //nolint:gosec // small
	if s.cfg.Policy.Suspending {
		m.Marks = sched.Stoppable | sched.Restartable
	}
	switch words[3] {
	case sched.Long.String():
		m.Class = sched.Long
	case "undeclared":
		m.Marks |= sched.Undeclared
	}
	if len(words) > 4 {
		m.App = words[4]
	}
	s.jobIndex[m.Job] = int32(len(s.work)) //nolint:gosec // small
	s.addJob(Job{Durations: slices.Repeat([]int64{int64(forever)}, tasks)})
	s.arrivals = len(s.work)
	s.names = append(s.names, words[1])
	s.frontendShells.acceptJob(f, m)
	s.named[words[1]] = s.check.byID[m.Job]
	return nil
}

// forever is the duration of a task, which the script ends.
const forever = sched.Time(1) << 60

// endTask ends job/task, or job/task=failed, wherever it runs.
func (s *script) endTask(word string) error {
	task, how, _ := strings.Cut(word, "=")
	name, n, _ := strings.Cut(task, "/")
	first, err := strconv.Atoi(n)
	if err != nil || s.named[name] == nil {
		return fmt.Errorf("%q is not JOB/TASK of a job that was submitted", task)
	}
	o := sched.Done
	if how == sched.Failed.String() {
		o = sched.Failed
	}
	for _, x := range s.workers() {
		for _, i := range s.runs.byWorker[x.host.addr.ID] {
			if r := &s.runs.slab[i]; r.running && r.msg.Job == s.named[name].id && int(r.msg.First) == first {
				s.endRunning(x, o)
				return nil
			}
		}
	}
	return fmt.Errorf("%s runs nowhere", task)
}

func (s *script) workers() (list []*worker) {
	for _, n := range s.nodes {
		list = append(list, n.workers...)
	}
	return list
}

func (s *script) pass(word string) error {
	ms, err := strconv.Atoi(strings.TrimSuffix(word, "ms"))
	s.advance(sched.Time(ms) * sched.Millisecond)
	return err
}

func (s *script) daemon(verb, what, which string) error {
	all := map[string]struct {
		count       int
		start, kill func(int)
	}{
		"node":        {len(s.nodes), s.nodeShells.start, func(i int) { s.nodeShells.kill(i, 0) }},
		"master":      {len(s.masters), s.masterShells.start, func(i int) { s.masterShells.kill(i, 0) }},
		"distributor": {len(s.frontends), s.frontendShells.start, func(i int) { s.frontendShells.kill(i, 0, 0) }},
	}
	i, err := number(which, all[what].count)
	if err != nil {
		return err
	}
	if verb == "start" {
		all[what].start(i)
	} else {
		all[what].kill(i)
	}
	return nil
}

func (s *script) lose(words []string) error {
	switch {
	case len(words) == 2 && words[0] == "node":
		i, err := number(words[1], len(s.nodes))
		if err == nil {
			s.masterShells.loseNode(i)
		}
		return err
	case len(words) == 4 && words[0] == "master":
		g, err := number(words[1], len(s.masters))
		if err != nil {
			return err
		}
		f, err := number(words[3], len(s.frontends))
		if err == nil {
			s.heartbeats.loseMaster(s.frontends[f], g)
		}
		return err
	}
	return errors.New("lose node N, or lose master N at f")
}

func number(word string, below int) (int, error) {
	i, err := strconv.Atoi(word)
	if err != nil || i < 0 || i >= below {
		return 0, fmt.Errorf("%q is not one of 0 to %d", word, below-1)
	}
	return i, nil
}
