package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// steps are the steps carried out on a bed, in order.
type steps struct {
	bed     *bed
	opts    options
	program string
	nodes   []string // names of the hosts that are nodes alone
}

// chiefs returns how many hosts have masters, frontends and NATS servers: three, with standbys,
// where that leaves two nodes.
func (s *steps) chiefs() int {
	if s.opts.hosts < 5 {
		return 1
	}
	return 3
}

// slots of each node.
const slots = 2

func (s *steps) makeHosts(ctx context.Context) error {
	if err := s.bed.writeKeys(); err != nil {
		return err
	}
	for i := 1; i <= s.opts.hosts; i++ {
		name := s.nameOf(i)
		if i > s.chiefs() {
			s.nodes = append(s.nodes, name)
		}
		if err := s.bed.add(ctx, name, addressOf(i)); err != nil {
			return err
		}
	}
	return s.bed.awaitSSH(ctx)
}

// nameOf returns the name of the i-th host, from 1.
func (s *steps) nameOf(i int) string {
	if i > s.chiefs() {
		return fmt.Sprintf("n%d", i)
	}
	return fmt.Sprintf("m%d", i)
}

func addressOf(i int) string { return fmt.Sprintf("10.77.0.%d", i) }

// inventory returns the path of the hosts' inventory.
func (s *steps) inventory() string { return filepath.Join(s.bed.folder, "inventory.yaml") }

func (s *steps) plan() string { return filepath.Join(s.bed.folder, "bed-plan") }

func (s *steps) writeInventory() error {
	var b bytes.Buffer
	as := ""
	if s.opts.security != "tls" { // no submitter is proven, as whose user tasks could run
		as = ", node: {run_as: " + person + "}"
	}
	fmt.Fprintf(&b, "cluster: bed\nsecurity: %s\nservice_manager: none\nssh: {config: %s}\nsettings: {nats: {max_store: 1073741824}%s}\nhosts:\n", s.opts.security, s.bed.sshConfig(), as)
	for i := 1; i <= s.chiefs(); i++ {
		fmt.Fprintf(&b, "  - {name: m%d, address: %s, roles: [nats, master, frontend]}\n", i, addressOf(i))
	}
	for _, n := range s.nodes {
		fmt.Fprintf(&b, "  - {name: %s, address: %s, roles: [node], slots: %d}\n", n, s.bed.hosts[n].address, slots)
	}
	return os.WriteFile(s.inventory(), b.Bytes(), 0o600)
}

// pigeon runs the program as the operator does.
func (s *steps) pigeon(ctx context.Context, args ...string) (string, error) {
	words := s.line(args...)
	return run(ctx, words[0], words[1:]...)
}

// line returns the command that runs the program as the operator does.
func (s *steps) line(args ...string) []string {
	environment := []string{"-i", "PATH=" + os.Getenv("PATH"), "HOME=" + s.bed.folder, "PIGEON_CONFIG="}
	if s.opts.security == "tls" {
		environment = append(environment, "PIGEON_TOKEN_FILE="+filepath.Join(s.bed.folder, "token"), "PIGEON_TLS_CA="+filepath.Join(s.plan(), "authority", "ca.pem"))
	}
	if args[0] != "cluster" && args[0] != "token" && args[0] != "replay" {
		args = append([]string{args[0], "--config", filepath.Join(s.plan(), "client.yaml")}, args[1:]...)
	}
	return s.bed.line("env", slices.Concat(environment, []string{s.program}, args)...)
}

// cluster runs a verb of 'pigeon cluster' and returns how long it took, and how many hosts are in
// which state afterwards.
func (s *steps) cluster(ctx context.Context, verb string, args ...string) (map[string]int, time.Duration, error) {
	began := time.Now()
	out, err := s.pigeon(ctx, slices.Concat([]string{"cluster", verb, s.inventory(), "-o", "json", "--parallel", "8"}, args)...)
	took, states := time.Since(began), map[string]int{}
	for line := range strings.Lines(out) {
		var r struct {
			State string `json:"state"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return states, took, fmt.Errorf("%q: %w", line, err)
		}
		states[r.State]++
	}
	return states, took, err
}

func (s *steps) all(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.install, s.again, s.upgrade, s.replace, s.remove} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// within refuses a step that took too long.
func within(what string, took, most time.Duration) error {
	if took > most {
		return fmt.Errorf("%s took %v, more than %v", what, took.Round(time.Second), most)
	}
	return nil
}

// mostInstall is how long 24 hosts may take from nothing to the first job.
const mostInstall = 3 * time.Minute

func (s *steps) install(ctx context.Context) error {
	if err := s.writeInventory(); err != nil {
		return err
	}
	began := time.Now()
	if err := s.token(ctx); err != nil {
		return err
	}
	took, err := s.first(ctx)
	if err != nil {
		return err
	}
	out, err := s.pigeon(ctx, "run", "--", "hostname")
	if err != nil || !slices.Contains(s.nodes, strings.TrimSpace(out)) {
		return fmt.Errorf("the first job printed %q: %w", out, err)
	}
	first := time.Since(began)
	fmt.Fprintf(os.Stdout, "install: %.1f s, nothing to first job (on %s) %.1f s\n", took.Seconds(), strings.TrimSpace(out), first.Seconds())
	if s.opts.ansible != "" {
		return nil // it takes a second for each task and host
	}
	return within("nothing to first job", first, mostInstall)
}

// first installs, by 'pigeon cluster apply' or by Ansible.
func (s *steps) first(ctx context.Context) (time.Duration, error) {
	if s.opts.ansible == "" {
		states, took, err := s.cluster(ctx, "apply", "--program", s.program)
		if err != nil || states["changed"] != s.opts.hosts {
			return took, fmt.Errorf("apply: %v: %w", states, err)
		}
		return took, nil
	}
	began := time.Now()
	if _, err := s.pigeon(ctx, "cluster", "plan", s.inventory()); err != nil {
		return 0, err
	}
	var list strings.Builder
	for name, h := range s.bed.hosts {
		fmt.Fprintf(&list, "%s ansible_host=%s ansible_python_interpreter=/usr/bin/python3\n", name, h.address)
	}
	file := filepath.Join(s.bed.folder, "hosts.ini")
	if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
		return 0, err
	}
	_, err := s.bed.operate(ctx, "env", "ANSIBLE_SSH_ARGS=-F "+s.bed.sshConfig()+" -o ControlMaster=auto -o ControlPersist=60s", "HOME="+s.bed.folder, s.opts.ansible,
		"-i", file, "-e", "pigeon_plan="+s.plan(), "-e", "pigeon_program="+s.program, "deploy/ansible/site.yml")
	return time.Since(began), err
}

// token makes an access token for the operator.
func (s *steps) token(ctx context.Context) error {
	if s.opts.security != "tls" {
		return nil
	}
	if err := os.MkdirAll(s.plan(), 0o700); err != nil {
		return err
	}
	out, err := s.pigeon(ctx, "token", "create", "--user", person, "--role", "admin", "--ttl", "1d", "--file", filepath.Join(s.plan(), "tokens"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.bed.folder, "token"), []byte(out), 0o600)
}

// again applies the same once more: nothing changes.
func (s *steps) again(ctx context.Context) error {
	states, took, err := s.cluster(ctx, "apply", "--program", s.program)
	if err != nil || states["as planned"] != s.opts.hosts {
		return fmt.Errorf("the second apply: %v: %w", states, err)
	}
	fmt.Fprintf(os.Stdout, "apply again: nothing changed, %.1f s\n", took.Seconds())
	return nil
}

// upgrade installs another program while jobs run, and checks that each task started once.
func (s *steps) upgrade(ctx context.Context) error {
	text, err := os.ReadFile(s.program)
	if err != nil {
		return err
	}
	another := filepath.Join(s.bed.folder, "pigeon-another")
	if err := os.WriteFile(another, append(text, "another"...), 0o755); err != nil { //nolint:gosec // a program
		return err
	}
	load, stop := context.WithCancel(ctx)
	defer stop()
	jobs := make(chan result, 1)
	go func() { jobs <- s.load(load) }()
	states, took, err := s.cluster(ctx, "upgrade", "--program", another)
	stop()
	got := <-jobs
	if err != nil || states["changed"] != s.opts.hosts || got.err != nil {
		return fmt.Errorf("the upgrade: %v: %w", states, errors.Join(err, got.err))
	}
	fmt.Fprintf(os.Stdout, "upgrade under load: %.1f s; %d jobs, %d tasks, %d attempts, %d programs started, %d of them twice, %d tasks lost\n",
		took.Seconds(), got.jobs, got.tasks, got.attempts, got.started, got.twice, got.lost)
	s.program = another
	if got.twice > 0 || got.lost > 0 || got.started != got.tasks {
		return errors.New("an attempt was lost in the upgrade")
	}
	return nil
}

// result is what the load came to.
type result struct {
	jobs, tasks, attempts, started, twice, lost int
	err                                         error
}

// loaders submit jobs at a time, each of tasksOfLoad tasks that take taskTime.
const (
	loaders     = 4
	tasksOfLoad = 30
	taskTime    = "1"
)

// load submits jobs of programs that note their start, until ctx ends, and waits for them.
func (s *steps) load(ctx context.Context) (r result) {
	folder := filepath.Join(s.bed.folder, "starts")
	if r.err = errors.Join(os.Mkdir(folder, 0o700), os.Chmod(folder, 0o777)); r.err != nil { //nolint:gosec // tasks of any user write there
		return r
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range loaders {
		all.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				key := fmt.Sprintf("load-%d-%d", n, k)
				// One file for each start: its name has the task, the attempt and the process.
				program := fmt.Sprintf("touch %s/%s-$PIGEON_TASK-$PIGEON_ATTEMPT-$$; sleep %s", folder, key, taskTime)
				out, err := s.pigeon(context.WithoutCancel(ctx), "submit", "--key", key, "--tasks", fmt.Sprint(tasksOfLoad), "--class", "short", "--wait", "-o", "json", "--", "sh", "-c", program)
				mu.Lock()
				r.add(out, err)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	started, err := os.ReadDir(folder)
	r.err = errors.Join(r.err, err)
	tasks := map[string]int{}
	for _, f := range started {
		parts := strings.Split(f.Name(), "-")
		tasks[strings.Join(parts[:4], "-")]++
	}
	r.started, r.lost = len(started), r.lost+r.tasks-len(tasks)
	for _, n := range tasks {
		r.twice += n - 1
	}
	return r
}

// add counts a job that has ended.
func (r *result) add(out string, err error) {
	r.jobs++
	r.tasks += tasksOfLoad
	r.err = errors.Join(r.err, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var status struct {
		Completed int `json:"completed"`
		Attempts  int `json:"attempts"`
	}
	if e := json.Unmarshal([]byte(lines[len(lines)-1]), &status); e != nil {
		r.err = errors.Join(r.err, fmt.Errorf("%q: %w", out, e))
	}
	r.attempts += status.Attempts
	r.lost += tasksOfLoad - status.Completed
}

// replace takes the power from a host and puts another one in its place.
func (s *steps) replace(ctx context.Context) error {
	gone, came := s.nodes[len(s.nodes)-1], fmt.Sprintf("n%d", s.opts.hosts+1)
	s.bed.kill(ctx, gone)
	states, _, err := s.cluster(ctx, "apply", "--program", s.program)
	if err == nil || states["failed"] != 1 || states["as planned"] != s.opts.hosts-1 {
		return fmt.Errorf("apply without host %s: %v: %w", gone, states, err)
	}
	if err := s.bed.add(ctx, came, addressOf(s.opts.hosts+1)); err != nil {
		return err
	}
	s.nodes[len(s.nodes)-1] = came
	began := time.Now()
	if err := errors.Join(s.bed.awaitSSH(ctx), s.writeInventory()); err != nil {
		return err
	}
	if states, _, err = s.cluster(ctx, "apply", "--program", s.program); err != nil || states["changed"] != 1 {
		return fmt.Errorf("apply with host %s: %v: %w", came, states, err)
	}
	_, forgotten := s.pigeon(ctx, "node", "forget", gone) // a master that leads since then does not know it
	out, err := s.pigeon(ctx, "nodes", "-o", "json")
	if err != nil || !strings.Contains(out, `"`+came+`"`) || strings.Contains(out, `"`+gone+`"`) {
		return fmt.Errorf("the nodes are %s: %w", out, errors.Join(err, forgotten))
	}
	fmt.Fprintf(os.Stdout, "replace: %s lost its power, its failure was told; %s took its place in %.1f s\n", gone, came, time.Since(began).Seconds())
	return nil
}

// remove removes the cluster and looks for leftovers.
func (s *steps) remove(ctx context.Context) error {
	states, took, err := s.cluster(ctx, "remove", "--program", s.program, "--yes")
	if err != nil || states["removed"] != s.opts.hosts {
		return fmt.Errorf("remove: %v: %w", states, err)
	}
	if err := s.nothingLeft(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "remove: nothing left on %d hosts, %.1f s\n", s.opts.hosts, took.Seconds())
	return nil
}

// nothingLeft looks for folders and processes of the program on all hosts.
func (s *steps) nothingLeft(ctx context.Context) error {
	for name, h := range s.bed.hosts {
		out, err := s.bed.operate(ctx, "ssh", "-F", s.bed.sshConfig(), h.address, "ls -d /etc/pigeon /opt/pigeon /var/lib/pigeon /var/log/pigeon /run/pigeon /var/lib/pigeon-replay 2>/dev/null || :; grep -la pigeon /proc/[0-9]*/comm | while read f; do p=${f%/comm}; [ \"$(readlink $p/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ] || echo $p; done")
		if err != nil || strings.TrimSpace(out) != "" {
			return fmt.Errorf("left on host %s: %s: %w", name, out, err)
		}
	}
	return nil
}
