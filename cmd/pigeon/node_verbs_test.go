package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// gatedJob is a job of one program that records where and as which attempt it starts, and
// runs until it may end.
type gatedJob struct {
	t       *testing.T
	id, dir string
}

// submitGated submits the job and waits until it runs.
func submitGated(t *testing.T) *gatedJob {
	t.Helper()
	j := &gatedJob{t: t, dir: t.TempDir()}
	script := fmt.Sprintf(`mkdir %[1]s/$PIGEON_ATTEMPT@$PIGEON_NODE; until test -e %[1]s.end; do sleep 0.01; done`, j.dir)
	j.id = succeed(t, "submit", "--", "sh", "-c", script)
	j.awaitStart(1)
	t.Cleanup(j.open)
	return j
}

// starts lists ATTEMPT@NODE of each start.
func (j *gatedJob) starts() (list []string) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		j.t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// awaitStart waits until the n-th attempt has begun and returns its node.
func (j *gatedJob) awaitStart(n int) (node string) {
	j.t.Helper()
	await.Until(j.t, fmt.Sprintf("start %d of %s", n, j.id), func() bool {
		for _, s := range j.starts() {
			if at, ok := strings.CutPrefix(s, fmt.Sprint(n, "@")); ok {
				node = at
			}
		}
		return node != ""
	})
	return node
}

// open lets the programs end.
func (j *gatedJob) open() {
	if err := os.WriteFile(j.dir+".end", nil, 0o600); err != nil {
		j.t.Error(err)
	}
}

// awaitEnd waits until the job is completed; it must have started the given number of times,
// and no attempt may count as a loss or a retry.
func (j *gatedJob) awaitEnd(attempts int) {
	j.t.Helper()
	await.Until(j.t, j.id+" is completed", func() bool { return statusOfJob(j.t, j.id).State == api.StateCompleted })
	if s := statusOfJob(j.t, j.id); s.Attempts != attempts || len(j.starts()) != attempts {
		j.t.Errorf("want %d attempts, started are %v: %+v", attempts, j.starts(), s)
	}
	for _, e := range lines[api.Event](j.t, succeed(j.t, "events", "--job", j.id, "-o", "json")) {
		held := e.Type == api.EventAttemptLost || e.Type == api.EventAttemptFailed
		if held || e.Type == api.EventTasksRetried && !strings.Contains(e.Message, "was given back") {
			j.t.Errorf("held against the job: %+v", e)
		}
	}
}

// shownNode returns a node as 'pigeon nodes' has it.
func shownNode(t *testing.T, name string) api.Node {
	t.Helper()
	for _, n := range lines[api.Node](t, succeed(t, "nodes", "-o", "json")) {
		if n.ID == name {
			return n
		}
	}
	return api.Node{}
}

func awaitShown(t *testing.T, name, state string) {
	t.Helper()
	await.Until(t, name+" is "+state, func() bool { return shownNode(t, name).State == state }, func() string { return fmt.Sprintf("%+v", shownNode(t, name)) })
}

// TestNodeVerbs is the drain of nodes as their operator sees it, on one cluster of two nodes
// with a slot each.
func TestNodeVerbs(t *testing.T) {
	runDev(t, "--groups", "1", "--nodes", "2", "--slots", "1", "--reserved", "0")
	t.Run("mistakes", testNodeMistakes)
	t.Run("answers", testNodeAnswers)
	t.Run("last nodes", testLastNodes)
	t.Run("waits", testDrainWaits)
}

func testNodeMistakes(t *testing.T) {
	for _, c := range []struct {
		args   string
		code   int
		stderr []string // parts of it
	}{
		{"drain", cli.ExitUsage, []string{"name a node: pigeon nodes drain NODE...\n", "pigeon nodes drain --help"}},
		{"resume", cli.ExitUsage, []string{"name a node: pigeon nodes resume NODE...\n"}},
		{"forget", cli.ExitUsage, []string{"name a node: pigeon nodes forget NODE...\n"}},
		{"drian node-0-000", cli.ExitUsage, []string{`"drain"`}},
		{"drain node-0-000 --deadline -1s", cli.ExitUsage, []string{"--deadline is -1s", "above zero"}},
		{"drain node-0-000 --deadline soon", cli.ExitUsage, []string{`"soon"`}},
		{"drain node-0-000 --deadline 1m --kill", cli.ExitUsage, []string{"--kill", "--deadline 1m0s", "use one of them"}},
		{"drain node-0-000 -o yaml", cli.ExitUsage, []string{"text and json"}},

		{"drain node-0-00", cli.ExitFailed, []string{`node "node-0-00": no master has a node of this name; did you mean "node-0-000"?`, "(while draining it)", "`pigeon nodes` lists"}},
		{"drain node-0-00 --wait", cli.ExitFailed, []string{`did you mean "node-0-000"?`}},
		{"drain node-0-00 --wait -o json", cli.ExitFailed, []string{`did you mean "node-0-000"?`}},
		{"drain nobody other", cli.ExitFailed, []string{`node "nobody"`, `node "other"`}},
		{"resume node-0-00", cli.ExitFailed, []string{`did you mean "node-0-000"?`, "(while resuming it)"}},
		{"resume node-0-000", cli.ExitFailed, []string{`node "node-0-000": it is not draining and takes tasks already (while resuming it); there is nothing to do`}},
		{"resume node-0-000 node-0-001", cli.ExitFailed, []string{`node "node-0-000"`, `node "node-0-001"`}},
		{"forget node-0-000", cli.ExitFailed, []string{`node "node-0-000": the node is up`, "nothing was changed", "stop its node monitor"}},
		{"forget frontend-0", cli.ExitFailed, []string{`frontend "frontend-0": the frontend is registered`, "nothing was changed", "stop it"}},
		{"forget nobody", cli.ExitFailed, []string{`node "nobody": no master knows it`, "nothing was changed", "pigeon nodes"}},
		{"forget ''", cli.ExitUsage, []string{"the name of a node is empty; name a node"}},
		{"drain node-0-000 --frontend 127.0.0.1:1 --retry-for 0s", cli.ExitFailed, []string{"127.0.0.1:1"}},
	} {
		args := append([]string{"node"}, strings.Fields(strings.ReplaceAll(c.args, "''", "EMPTY"))...)
		for i := range args {
			args[i] = strings.Replace(args[i], "EMPTY", "", 1)
		}
		code, out, errs := program(t, args...)
		if code != c.code || out != "" || slices.ContainsFunc(c.stderr, func(part string) bool { return !strings.Contains(errs, part) }) {
			t.Errorf("pigeon node %s: status %d, want %d and %q\n%s%s", c.args, code, c.code, c.stderr, out, errs)
		}
	}
	if n := shownNode(t, "node-0-000"); n.State != api.StateUp || n.Slots != 1 {
		t.Errorf("a refused order has changed the node: %+v", n)
	}
}

// The output of the verbs about idle nodes, as text and as JSON. One that fails keeps none
// of the others from it.
func testNodeAnswers(t *testing.T) {
	const node = "node-0-000"
	if got := succeed(t, "node", "drain", node); got != node+" is draining: 0 still running" && got != node+" is drained" {
		t.Errorf("drained: %q", got)
	}
	awaitShown(t, node, api.StateDrained)
	if got := succeed(t, "node", "drain", node, "--deadline", "1h"); got != node+" is drained" {
		t.Errorf("drained again: %q", got)
	}
	if got := succeed(t, "node", "drain", node, "-o", "json"); got != `{"node":"node-0-000","group":0,"state":"drained","running":0,"results":0}` {
		t.Errorf("drained again: %s", got)
	}
	code, out, errs := program(t, "node", "resume", "nobody", node, "-o", "json")
	if code != cli.ExitFailed || out != `{"node":"node-0-000","group":0,"state":"up","running":0,"results":0}`+"\n" || !strings.Contains(errs, "nobody") {
		t.Errorf("resumed with a stranger: status %d, %s%s", code, out, errs)
	}
	awaitShown(t, node, api.StateUp)
	succeed(t, "node", "drain", node, "--wait")
	if got := succeed(t, "node", "resume", node); got != node+" takes tasks again" {
		t.Errorf("resumed: %q", got)
	}
	awaitShown(t, node, api.StateUp)
}

// A drain that leaves no node for the tasks of an application reports that, also when one
// command drains all of them.
func testLastNodes(t *testing.T) {
	both := []string{"node-0-000", "node-0-001"}
	for name, flags := range map[string][]string{"at once": nil, "waiting": {"--wait"}} {
		code, out, errs := program(t, slices.Concat([]string{"node", "drain", "-o", "json"}, flags, both)...)
		got := lines[api.NodeDrain](t, out)
		if code != cli.ExitDone || !strings.Contains(errs, "warning: without node-0-001 no node that is up can run tasks of sleep and exec") {
			t.Errorf("%s: status %d, %s", name, code, errs)
		}
		if len(got) != 2 || strings.Count(errs, "warning") != 1 {
			t.Errorf("%s: %+v, %s", name, got, errs)
		}
		for _, d := range got {
			if last := slices.Equal(d.Only, []string{""}); last != (d.Node == both[1]) {
				t.Errorf("%s: %+v", name, d)
			}
		}
		succeed(t, append([]string{"node", "resume"}, both...)...)
		for _, n := range both {
			awaitShown(t, n, api.StateUp)
		}
	}
}

// saysLast reports whether the last line is the wanted one, except for the end of a node's tasks,
// which may be seen before the node is drained.
func saysLast(lines, want, node string) bool {
	return strings.HasSuffix(strings.TrimSuffix(lines, "\n"+node+": 0 running"), want)
}

// --wait returns when the node is drained, when it can not be any more, or at Ctrl-C, and
// shows what still runs meanwhile.
func testDrainWaits(t *testing.T) {
	const running = "%s: 1 running"
	ends := func(_ *followed, j *gatedJob, _ string) { j.open() }
	for _, c := range []struct {
		name      string
		flags     []string
		progress  string // %s is the node; "" when the drain may be over before it is shown
		meanwhile func(*followed, *gatedJob, string)
		code      int
		out, errs string // the only line, and the last
		attempts  int
	}{
		{"the task ends", nil, running, ends, cli.ExitDone, "%s is drained", running, 1},
		{"as JSON", []string{"-o", "json"}, running, ends, cli.ExitDone, `{"node":"%s","group":0,"state":"drained","running":0,"results":0}`, running, 1},
		{"alongside a stranger", []string{"nobody"}, running, ends, cli.ExitFailed, "%s is drained", running, 1},
		{"its deadline", []string{"--deadline", "10ms"}, "", nil, cli.ExitDone, "%s is drained", "", 2},
		{"killed", []string{"--kill"}, "", nil, cli.ExitDone, "%s is drained", "", 2},
		{"Ctrl-C", nil, running, func(f *followed, _ *gatedJob, _ string) { f.interrupt(t) }, cli.ExitInterrupted, "", "interrupted; %s goes on draining", 1},
		{
			"resumed meanwhile", nil, running, func(_ *followed, _ *gatedJob, node string) { succeed(t, "node", "resume", node) }, cli.ExitFailed, "",
			`pigeon: node "%s": it was resumed (while waiting until it is drained); 'pigeon nodes drain %[1]s' drains it again`, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := submitGated(t)
			node := j.awaitStart(1)
			f := followVerb(t, slices.Concat([]string{"node", "drain", node, "--wait"}, c.flags)...)
			if c.progress != "" {
				f.await(t, &f.errs, fmt.Sprintf(c.progress, node))
			}
			if c.meanwhile != nil {
				c.meanwhile(f, j, node)
			}
			code, out, errs := f.status(t), strings.Join(f.out, "\n"), strings.Join(f.errs, "\n")
			if want := strings.ReplaceAll(c.out, "%s", node); code != c.code || out != want {
				t.Errorf("status %d, want %d and %q\n%s\n%s", code, c.code, want, out, errs)
			}
			if last := fmt.Sprintf(c.errs, node); c.errs != "" && !saysLast(errs, last, node) {
				t.Errorf("it says %q, want %q", errs, last)
			}
			if c.attempts == 2 && j.awaitStart(2) == node {
				t.Errorf("it started again at the node that drains: %v", j.starts())
			}
			j.open()
			j.awaitEnd(c.attempts)
			if shownNode(t, node).State != api.StateUp {
				succeed(t, "node", "resume", node)
			}
			await.Until(t, "the node takes tasks again", func() bool { n := shownNode(t, node); return n.State == api.StateUp && n.Slots == 1 })
		})
	}
}
