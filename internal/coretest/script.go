package coretest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Script plays a scenario and gives it back with what happened written below each
// command. Its text is prose and commands:
//
//	> start 1 W=2 reserved=0.5 nodes="" nodes="",app   one distributor, W, share, and a
//	                                 group for each nodes=: per node a list of the
//	                                 applications it serves, nodes parted by /
//	> submit d job tasks class app   at distributor d; class short or long; where tasks
//	                                 are suspended, they can be stopped and run again
//	> deliver                        everything on its way, and what follows
//	> end job/task ...               the backend ends these tasks; =failed fails one
//	> pass 1000ms                    time
//	> kill|start node|master|distributor N
//	> lose node N                    its master gives it up
//	> lose master N at d             distributor d hears that group N has no master
//	> repeat N                       the last N messages of every link come again
//	> drop notices                   all notices on their way are lost
//	> snapshot                       every node tells its state, and repeats reports
//	> cancel job
//	> rest                           everything ends; all that must hold is checked
//
// Lines that start with neither > nor four spaces are prose and are kept; lines
// that start with four spaces are the output of an earlier play and are replaced.
func Script(cfg Config, text string) (string, error) {
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
		if err := s.run(strings.Fields(command)); err != nil {
			return b.String(), fmt.Errorf("line %d: %s: %w", number+1, line, err)
		}
		history, last := s.History(s.shown)
		s.shown = last
		b.WriteString(s.plain(history))
		if s.err != nil {
			return b.String(), fmt.Errorf("line %d: %s: %w", number+1, line, s.err)
		}
	}
	return b.String(), nil
}

type script struct {
	*Cluster
	cfg   Config
	named map[string]*job
	names []string
	shown int // number of the last step that was printed
}

// plain indents a history and puts jobs' names in the place of their ids.
func (s *script) plain(history string) string {
	var b strings.Builder
	for line := range strings.Lines(history) {
		for _, name := range s.names {
			line = strings.ReplaceAll(line, s.named[name].id.String(), name)
		}
		b.WriteString("    " + line)
	}
	return b.String()
}

func (s *script) run(words []string) error {
	if words[0] == "start" && s.Cluster == nil {
		return s.start(words[1:])
	}
	if s.Cluster == nil {
		return fmt.Errorf("the first command is start")
	}
	verb := words[0]
	switch words = words[1:]; {
	case verb == "submit" && len(words) >= 4:
		return s.submit(words)
	case verb == "deliver":
		s.DeliverAll()
	case verb == "end":
		return each(words, s.end)
	case verb == "pass" && len(words) == 1:
		return s.pass(words[0])
	case (verb == "kill" || verb == "start") && len(words) == 2:
		return s.process(verb, words[0], words[1])
	case verb == "lose":
		return s.lose(words)
	case verb == "repeat" && len(words) == 1:
		n, err := strconv.Atoi(words[0])
		for _, l := range slices.Clone(s.links) {
			s.repeat(l, n)
		}
		return err
	case verb == "drop":
		s.notices = nil
	case verb == "snapshot":
		for i := range s.nodes {
			s.Snapshot(i)
		}
	case verb == "cancel" && len(words) == 1 && s.named[words[0]] != nil:
		s.Cancel(s.named[words[0]])
	case verb == "rest":
		s.Heal()
	default:
		return fmt.Errorf("no such command, or not with these words")
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

func (s *script) start(words []string) error {
	cfg := s.cfg
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
			cfg.Groups = append(cfg.Groups, group)
		default:
			cfg.Distributors, err = strconv.Atoi(key)
		}
		if err != nil {
			return err
		}
	}
	s.Cluster = New(cfg)
	return nil
}

func (s *script) submit(words []string) error {
	d, err := number(words[0], len(s.distributors))
	if err != nil {
		return err
	}
	tasks, err := strconv.Atoi(words[2])
	if err != nil {
		return err
	}
	m := sched.Message{Job: sched.NewJobID("", words[1]), Key: uint64(len(s.jobs)), Count: int32(tasks)}
	if s.cfg.Policy.Suspending {
		m.Marks = sched.Stoppable | sched.Restartable
	}
	if words[3] == sched.Long.String() {
		m.Class = sched.Long
	}
	if len(words) > 4 {
		m.App = words[4]
	}
	s.names = append(s.names, words[1])
	s.Submit(d, m)
	s.named[words[1]] = s.byID[m.Job]
	return nil
}

// end ends job/task, or job/task=failed, wherever it runs.
func (s *script) end(word string) error {
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
	for i, node := range s.nodes {
		for k, slot := range node.slots {
			if r := slot.running; r != nil && r.Job == s.named[name].id && r.First == int32(first) {
				s.End(i, k, o)
				return nil
			}
		}
	}
	return fmt.Errorf("%s runs nowhere", task)
}

func (s *script) pass(word string) error {
	ms, err := strconv.Atoi(strings.TrimSuffix(word, "ms"))
	s.Advance(sched.Time(ms) * sched.Millisecond)
	return err
}

func (s *script) process(verb, what, which string) error {
	all := map[string]struct {
		count       int
		start, kill func(int)
	}{
		"node":        {len(s.nodes), s.StartNode, func(i int) { s.KillNode(i, 0) }},
		"master":      {len(s.masters), s.StartMaster, func(i int) { s.KillMaster(i, 0) }},
		"distributor": {len(s.distributors), s.StartDistributor, func(i int) { s.KillDistributor(i, 0, 0) }},
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
			s.LoseNode(i)
		}
		return err
	case len(words) == 4 && words[0] == "master":
		g, err := number(words[1], len(s.masters))
		if err != nil {
			return err
		}
		d, err := number(words[3], len(s.distributors))
		if err == nil {
			s.LoseMaster(d, g)
		}
		return err
	}
	return fmt.Errorf("lose node N, or lose master N at d")
}

func number(word string, below int) (int, error) {
	i, err := strconv.Atoi(word)
	if err != nil || i < 0 || i >= below {
		return 0, fmt.Errorf("%q is not one of 0 to %d", word, below-1)
	}
	return i, nil
}
