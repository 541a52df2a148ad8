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
	fmt.Fprintf(&b, "cluster: bed\nsecurity: %s\nservice_manager: none\nssh: {config: %s}\nsettings: {nats: {max_store: 1073741824}%s}\nhosts:\n", s.opts.security, s.bed.sshConfig(), s.runAs())
	for i := 1; i <= s.chiefs(); i++ {
		fmt.Fprintf(&b, "  - {name: m%d, address: %s, roles: [nats, master, frontend]}\n", i, addressOf(i))
	}
	for _, n := range s.nodes {
		fmt.Fprintf(&b, "  - {name: %s, address: %s, roles: [node], slots: %d}\n", n, s.bed.hosts[n].address, slots)
	}
	return os.WriteFile(s.inventory(), b.Bytes(), 0o600)
}

// runAs returns the setting as whose user tasks run where no submitter is proven.
func (s *steps) runAs() string {
	if s.opts.security == "tls" {
		return ""
	}
	return ", node: {run_as: " + person + "}"
}

// pigeon runs the program as the operator does.
func (s *steps) pigeon(ctx context.Context, args ...string) (string, error) {
	words := s.line(args...)
	return run(ctx, words[0], words[1:]...)
}

// line returns the command that runs the program as the operator does.
func (s *steps) line(args ...string) []string {
	if args[0] != "cluster" && args[0] != "token" {
		args = append([]string{args[0], "--config", filepath.Join(s.plan(), "client.yaml")}, args[1:]...)
	}
	return s.bed.line("env", slices.Concat(s.environment(), []string{s.program}, args)...)
}

// environment returns the arguments of env for the operator's commands.
func (s *steps) environment() []string {
	environment := []string{"-i", "PATH=" + os.Getenv("PATH"), "HOME=" + s.bed.folder, "PIGEON_CONFIG="}
	if s.opts.security == "tls" {
		environment = append(environment, "PIGEON_TOKEN_FILE="+s.token(), "PIGEON_TLS_CA="+filepath.Join(s.plan(), "authority", "ca.pem"))
	}
	return environment
}

// recap is what a playbook did on a host.
type recap struct{ changed, unreachable, failed int }

// play plans the inventory, runs a playbook on its hosts, and returns how long that took and what it did
// by host.
func (s *steps) play(ctx context.Context, playbook string, variables ...string) (map[string]recap, time.Duration, error) {
	began := time.Now()
	if _, err := s.pigeon(ctx, "cluster", "plan", s.inventory(), "--out", s.plan()); err != nil {
		return nil, 0, err
	}
	words := slices.Concat(s.environment(),
		[]string{"LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", s.opts.playbook, "-i", filepath.Join(s.plan(), "ansible.yaml"), "-f", "8", "-e", "pigeon_program=" + s.program, "-e", "ansible_python_interpreter=/usr/bin/python3"})
	for _, v := range variables {
		words = append(words, "-e", v)
	}
	out, err := s.bed.operate(ctx, "env", append(words, filepath.Join("ansible", playbook))...)
	took, hosts := time.Since(began), map[string]recap{}
	_, list, _ := strings.Cut(out, "PLAY RECAP")
	for line := range strings.Lines(list) {
		var r recap
		var ok int
		if name, counts, is := strings.Cut(line, " : "); is {
			if _, err := fmt.Sscanf(strings.Join(strings.Fields(strings.TrimSpace(counts)), " "), "ok=%d changed=%d unreachable=%d failed=%d", &ok, &r.changed, &r.unreachable, &r.failed); err != nil {
				return hosts, took, fmt.Errorf("%q: %w", line, err)
			}
			hosts[strings.TrimSpace(name)] = r
		}
	}
	return hosts, took, err
}

// changed returns the hosts that a playbook changed, in order.
func changed(hosts map[string]recap) (names []string) {
	for name, r := range hosts {
		if r.changed > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *steps) all(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.install, s.again, s.upgrade, s.replace, s.remove} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *steps) install(ctx context.Context) error {
	if err := errors.Join(s.writeInventory(), s.makeToken(ctx)); err != nil {
		return err
	}
	began := time.Now()
	hosts, took, err := s.play(ctx, "site.yml")
	if err != nil || len(changed(hosts)) != s.opts.hosts {
		return fmt.Errorf("install: %v: %w", hosts, err)
	}
	out, err := s.pigeon(ctx, "run", "--", "hostname")
	if err != nil || !slices.Contains(s.nodes, strings.TrimSpace(out)) {
		return fmt.Errorf("the first job printed %q: %w", out, err)
	}
	fmt.Fprintf(os.Stdout, "install: %.1f s, nothing to first job (on %s) %.1f s\n", took.Seconds(), strings.TrimSpace(out), time.Since(began).Seconds())
	return nil
}

// token returns the file of the operator's access token.
func (s *steps) token() string { return filepath.Join(s.bed.folder, "token") }

// makeToken makes an access token for the operator.
func (s *steps) makeToken(ctx context.Context) error {
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
	return os.WriteFile(s.token(), []byte(out), 0o600)
}

// again installs the same once more: nothing changes.
func (s *steps) again(ctx context.Context) error {
	hosts, took, err := s.play(ctx, "site.yml")
	if err != nil || len(hosts) != s.opts.hosts || len(changed(hosts)) > 0 {
		return fmt.Errorf("the second installation: %v: %w", hosts, err)
	}
	fmt.Fprintf(os.Stdout, "again: nothing changed, %.1f s\n", took.Seconds())
	return nil
}

// upgrade installs another program while jobs run, and then the first one again with drained nodes; it
// checks that each task started once.
func (s *steps) upgrade(ctx context.Context) error {
	text, err := os.ReadFile(s.program)
	if err != nil {
		return err
	}
	another := filepath.Join(s.bed.folder, "pigeon-another")
	if err := os.WriteFile(another, append(text, "another"...), 0o755); err != nil { //nolint:gosec // a program
		return err
	}
	for _, u := range []struct{ way, program, drain string }{{"tasks are left to the next process", another, "false"}, {"nodes are drained", s.program, "true"}} {
		s.program = u.program
		load, stop := context.WithCancel(ctx)
		jobs := make(chan result, 1)
		go func() { jobs <- s.load(load, "drain-"+u.drain) }()
		hosts, took, err := s.play(ctx, "site.yml", "pigeon_drain="+u.drain)
		stop()
		got := <-jobs
		if err != nil || len(changed(hosts)) != s.opts.hosts || got.err != nil {
			return fmt.Errorf("the upgrade: %v: %w", hosts, errors.Join(err, got.err))
		}
		fmt.Fprintf(os.Stdout, "upgrade under load, %s: %.1f s; %d jobs, %d tasks, %d attempts, %d programs started, %d of them twice, %d tasks lost\n",
			u.way, took.Seconds(), got.jobs, got.tasks, got.attempts, got.started, got.twice, got.lost)
		if got.twice > 0 || got.lost > 0 || got.started != got.tasks {
			return errors.New("an attempt was lost in the upgrade")
		}
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
func (s *steps) load(ctx context.Context, name string) (r result) {
	folder := filepath.Join(s.bed.folder, name)
	if r.err = errors.Join(os.Mkdir(folder, 0o700), os.Chmod(folder, 0o777)); r.err != nil { //nolint:gosec // tasks of any user write there
		return r
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range loaders {
		all.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				key := fmt.Sprintf("%s-%d-%d", name, n, k)
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
		tasks[strings.Join(parts[:5], "-")]++
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
	hosts, _, err := s.play(ctx, "site.yml")
	if err == nil || hosts[gone].unreachable != 1 || len(hosts) != s.opts.hosts || len(changed(hosts)) > 0 {
		return fmt.Errorf("without host %s: %v: %w", gone, hosts, err)
	}
	if err := s.bed.add(ctx, came, addressOf(s.opts.hosts+1)); err != nil {
		return err
	}
	s.nodes[len(s.nodes)-1] = came
	began := time.Now()
	if err := errors.Join(s.bed.awaitSSH(ctx), s.writeInventory()); err != nil {
		return err
	}
	if hosts, _, err = s.play(ctx, "site.yml"); err != nil || !slices.Equal(changed(hosts), []string{came}) {
		return fmt.Errorf("with host %s: %v: %w", came, hosts, err)
	}
	_, forgotten := s.pigeon(ctx, "nodes", "forget", gone) // a master that leads since then does not know it
	out, err := s.pigeon(ctx, "nodes", "-o", "json")
	if err != nil || !strings.Contains(out, `"`+came+`"`) || strings.Contains(out, `"`+gone+`"`) {
		return fmt.Errorf("the nodes are %s: %w", out, errors.Join(err, forgotten))
	}
	fmt.Fprintf(os.Stdout, "replace: %s lost its power and was reported; %s took its place in %.1f s\n", gone, came, time.Since(began).Seconds())
	return nil
}

// remove removes the cluster and looks for leftovers.
func (s *steps) remove(ctx context.Context) error {
	hosts, took, err := s.play(ctx, "remove.yml", "pigeon_yes=true")
	if err != nil || len(changed(hosts)) != s.opts.hosts {
		return fmt.Errorf("remove: %v: %w", hosts, err)
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
		out, err := s.bed.operate(ctx, "ssh", "-F", s.bed.sshConfig(), h.address, "ls -d /etc/pigeon /opt/pigeon /var/lib/pigeon /var/log/pigeon /run/pigeon 2>/dev/null || :; grep -la pigeon /proc/[0-9]*/comm | while read f; do p=${f%/comm}; [ \"$(readlink $p/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ] || echo $p; done")
		if err != nil || strings.TrimSpace(out) != "" {
			return fmt.Errorf("left on host %s: %s: %w", name, out, err)
		}
	}
	return nil
}
