package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

// replayJobs are the jobs that are replayed to see that it works, and replaySpeedup by how much
// faster than in the trace.
const replayJobs, replaySpeedup = 60, 20

// replays replays jobs on the hosts, interrupts one replay and makes a host fail in another, and
// looks for what is left after each.
func (s *steps) replays(ctx context.Context) error {
	inventory, err := s.writeReplayInventory(len(s.nodes), slots)
	if err != nil {
		return err
	}
	list := []func(context.Context, string) error{s.replay, s.interrupt, s.lose}
	switch {
	case s.opts.spark != "":
		list = []func(context.Context, string) error{s.sparkReplay}
	case !s.opts.replay:
		list = list[:1] // each copies the program to all hosts
	}
	for _, step := range list {
		if err := step(ctx, inventory); err != nil {
			return err
		}
		if err := s.nothingLeft(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writeReplayInventory writes an inventory with a master and a frontend on each of the first
// hosts, in separate groups as far as there are nodes for them.
func (s *steps) writeReplayInventory(nodes, slots int) (string, error) {
	var b bytes.Buffer
	groups := min(s.chiefs(), nodes)
	fmt.Fprintf(&b, "cluster: replay\nsecurity: %s\nssh: {config: %s}\n%shosts:\n", s.opts.security, s.bed.sshConfig(), s.runAs())
	for i := 1; i <= s.chiefs(); i++ {
		if i <= groups {
			fmt.Fprintf(&b, "  - {name: m%d, address: %s, roles: [master, frontend], group: %d}\n", i, addressOf(i), i-1)
		} else {
			fmt.Fprintf(&b, "  - {name: m%d, address: %s, roles: [frontend]}\n", i, addressOf(i))
		}
	}
	for i, n := range s.nodes[:nodes] {
		fmt.Fprintf(&b, "  - {name: %s, address: %s, roles: [node], slots: %d, group: %d}\n", n, s.bed.hosts[n].address, slots, i%groups)
	}
	path := filepath.Join(s.bed.folder, "replay.yaml")
	return path, os.WriteFile(path, b.Bytes(), 0o600)
}

// runAs returns the settings of nodes where no submitter is proven, as whose user tasks could run,
// and for the executors of Spark, whose submitter is the replay and no user of the hosts.
func (s *steps) runAs() string {
	if s.opts.security == "tls" && s.opts.spark == "" {
		return ""
	}
	return "settings: {node: {run_as: " + person + "}}\n"
}

// replayed runs a replay on the hosts and returns its results: the live one, then those set
// next to it.
func (s *steps) replayed(ctx context.Context, inventory string, args ...string) (list []measure.Result, err error) {
	out, err := s.pigeon(ctx, slices.Concat([]string{"replay", "--hosts", inventory, "-o", "json"}, args)...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		var r measure.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, errors.New("the replay printed no result")
	}
	return list, nil
}

// workload are the flags of the jobs that show that it works.
func workload(jobs int) []string {
	return []string{"--trace", fmt.Sprintf("gen:ec2,jobs=%d", jobs), "--speedup", fmt.Sprint(replaySpeedup)}
}

func (s *steps) replay(ctx context.Context, inventory string) error {
	began := time.Now()
	list, err := s.replayed(ctx, inventory, workload(replayJobs)...)
	if err != nil {
		return err
	}
	r := list[0]
	if r.Completed != replayJobs || r.Failed != 0 || len(r.Hosts) != s.chiefs()+len(s.nodes) || r.MessagesPerTask <= 0 || !(r.All.Queueing.P99 > 0) {
		return fmt.Errorf("the replay: %+v", r)
	}
	fmt.Fprintf(os.Stdout, "replay: %d jobs, %d tasks on %d workers in %.1f s, with start and removal %.1f s; %s\n",
		r.Jobs, r.Tasks, r.Workers, float64(r.Wall), time.Since(began).Seconds(), r.AboutClocks())
	return nil
}

// sparkReplay has Spark applications on the hosts of the frontends run the jobs.
func (s *steps) sparkReplay(ctx context.Context, inventory string) error {
	folder, err := filepath.Abs(s.opts.spark)
	if err != nil {
		return err
	}
	began := time.Now()
	list, err := s.replayed(ctx, inventory, slices.Concat(workload(replayJobs), []string{"--via", "spark", "--host-spark", folder, "--host-pigeon", s.program})...)
	if err != nil {
		return err
	}
	r := list[0]
	if r.Completed != replayJobs || r.Failed != 0 || len(r.Hosts) != s.chiefs()+len(s.nodes) || r.MessagesPerTask <= 0 {
		return fmt.Errorf("the replay via Spark: %+v", r)
	}
	fmt.Fprintf(os.Stdout, "replay via Spark: %d jobs, %d tasks on %d workers in %.1f s, with start and removal %.1f s; %s\n",
		r.Jobs, r.Tasks, r.Workers, float64(r.Wall), time.Since(began).Seconds(), r.AboutClocks())
	return nil
}

// interrupt interrupts a replay, as Ctrl-C does: it prints what was measured until then.
func (s *steps) interrupt(ctx context.Context, inventory string) error {
	out, said, err := s.disturbed(ctx, inventory, func(p *os.Process) error { return p.Signal(os.Interrupt) })
	if err != nil || !strings.Contains(out, `"partial":true`) {
		return fmt.Errorf("the interrupted replay printed %q and said %q: %w", out, said, err)
	}
	fmt.Fprintln(os.Stdout, "replay: interrupted, it printed what was measured")
	return nil
}

// lose kills a daemon during a replay, which names its host.
func (s *steps) lose(ctx context.Context, inventory string) error {
	victim := s.nodes[0]
	out, said, err := s.disturbed(ctx, inventory, func(*os.Process) error {
		_, err := s.bed.operate(ctx, "ssh", "-F", s.bed.sshConfig(), s.bed.hosts[victim].address, "kill -KILL $(cat /var/lib/pigeon-replay/run/pigeon/nodemonitor.pid)")
		return err
	})
	if err != nil || out != "" || !strings.Contains(said, fmt.Sprintf("host %q", victim)) || !strings.Contains(said, "nodemonitor ended") {
		return fmt.Errorf("the replay that lost the node of host %s printed %q and said %q: %w", victim, out, said, err)
	}
	fmt.Fprintf(os.Stdout, "replay: the loss of a daemon on %s ended it and was told\n", victim)
	return nil
}

// begun is what a replay prints when jobs are being submitted.
const begun = "replaying on "

// disturbed starts a replay of an hour, does something to it when it has begun, and returns its
// standard output and standard error. It must end by itself, with a status other than 0.
func (s *steps) disturbed(ctx context.Context, inventory string, do func(*os.Process) error) (out, said string, err error) {
	words := s.line("replay", "--hosts", inventory, "-o", "json", "--trace", "gen:ec2,jobs=20000")
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var printed, told bytes.Buffer
	cmd.Stdout = &printed
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", "", err
	}
	done := false
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		told.WriteString(lines.Text() + "\n")
		if !done && strings.HasPrefix(lines.Text(), begun) {
			done, err = true, do(cmd.Process)
		}
	}
	if ended := cmd.Wait(); ended == nil || !done {
		err = errors.Join(err, fmt.Errorf("it ended with %w", ended))
	}
	return printed.String(), told.String(), err
}
