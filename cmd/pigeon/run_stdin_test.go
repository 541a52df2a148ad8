package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// inputCluster is a cluster of processes for tests of standard input.
type inputCluster struct {
	t        *testing.T
	master   *process
	frontend string // its address
	dir      string // for what tests and tasks tell each other
	nodes    map[string]*process
}

func newInputCluster(t *testing.T, nodes ...string) *inputCluster {
	t.Helper()
	c := &inputCluster{t: t, dir: t.TempDir(), nodes: map[string]*process{}}
	c.master = spawn(t, "master", "--listen", "127.0.0.1:0", "--http", "")
	at := c.master.line.Addresses["daemons"]
	for _, id := range nodes {
		c.nodes[id] = spawn(t, "nodemonitor", "--id", id, "--work-dir", t.TempDir(), "--master", at, "--slots", "2", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "")
	}
	f := spawn(t, "frontend", "--masters", at, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "")
	c.frontend = f.line.Addresses["applications"]
	t.Setenv("PIGEON_FRONTEND", c.frontend)
	return c
}

// runner is "pigeon run" in a process of its own, or a script that runs it as "$PIGEON".
type runner struct {
	*exec.Cmd
	out, errs bytes.Buffer
}

func (c *inputCluster) command(stdin io.Reader, argv ...string) *runner {
	p := &runner{Cmd: exec.Command(argv[0], argv[1:]...)}
	p.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PIGEON") }), "PIGEON_FRONTEND="+c.frontend, "PIGEON="+os.Args[0])
	p.Stdin, p.Stdout, p.Stderr, p.Dir = stdin, &p.out, &p.errs, c.dir
	return p
}

func (c *inputCluster) run(stdin io.Reader, args ...string) *runner {
	return c.command(stdin, append([]string{os.Args[0], "run"}, args...)...)
}

func (c *inputCluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *inputCluster) file(name string, text []byte) *os.File {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	f, err := os.Open(c.path(name))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = f.Close() }) // only read
	return f
}

// What a file or a pipe has reaches the program whole, as far as it wants it.
func TestRunPassesStandardInputOn(t *testing.T) {
	c := newInputCluster(t, "n1")
	big := someInput(20_000_000)
	open, write, err := os.Pipe() // to which nobody ever writes
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = open.Close(), write.Close() }() // nothing is in it
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zero.Close() }() // only read
	sum := func(data []byte) string { return fmt.Sprintf("%x  -\n", sha256.Sum256(data)) }
	for _, k := range []struct {
		name   string
		stdin  io.Reader
		args   []string
		code   int
		stdout string
	}{
		{"a file, whole", c.file("big", big), []string{"--", "sha256sum"}, 0, sum(big)},
		{"a pipe, whole", bytes.NewReader(big[:3_000_000]), []string{"--", "cat"}, 0, string(big[:3_000_000])},
		{"no byte, of a file", c.file("empty", nil), []string{"--", "wc", "-c"}, 0, "0\n"},
		{"no byte, of a pipe", strings.NewReader(""), []string{"-i", "--", "wc", "-c"}, 0, "0\n"},
		{"no standard input", nil, []string{"--", "wc", "-c"}, 0, "0\n"},
		{"a slow reader", bytes.NewReader(big[:500_000]), []string{"--", "sh", "-c", "while head -c 50000 | wc -c | grep -v '^0$'; do sleep 0.01; done"}, 0, strings.Repeat("50000\n", 10)},
		{"it wants a part", c.file("big", big), []string{"--", "head", "-c", "10"}, 0, string(big[:10])},
		{"it wants a part of what has no end", zero, []string{"--", "sh", "-c", "head -c 200000 | wc -c"}, 0, "200000\n"},
		{"it closes it and goes on", zero, []string{"--", "sh", "-c", "exec 0<&-; sleep 0.2; echo on"}, 0, "on\n"},
		{"it never reads", zero, []string{"--", "sh", "-c", "sleep 0.2; exit 3"}, 3, ""},
		{"nothing comes", open, []string{"--", "echo", "done"}, 0, "done\n"},
		{"not wanted", c.file("big", big), []string{"-n", "--", "wc", "-c"}, 0, "0\n"},
		{"variables are read of it", strings.NewReader("A=b\n"), []string{"--env-file", "-", "--", "sh", "-c", "echo $A; wc -c"}, 0, "b\n0\n"},
		{"a task that fails", strings.NewReader("once and again\n"), []string{"--retries", "1", "--dir", c.dir, "--", "sh", "-c", "if [ -e tried ]; then cat; else cat > tried; exit 9; fi"}, 0, "once and again\n"},
	} {
		t.Run(k.name, func(t *testing.T) {
			p := c.run(k.stdin, k.args...)
			if err := p.Run(); p.ProcessState.ExitCode() != k.code || p.out.String() != k.stdout || withoutWaiting(p.errs.String()) != "" {
				t.Errorf("%v, %d bytes of output: %.100q, %s", err, p.out.Len(), p.out.String(), p.errs.String())
			}
		})
	}
	t.Run("a folder", func(t *testing.T) {
		folder, err := os.Open(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = folder.Close() }() // only read
		p := c.run(folder, "--key", "folder", "--", "sh", "-c", "wc -c; sleep 600")
		if err := p.Run(); p.ProcessState.ExitCode() != cli.ExitFailed || !strings.Contains(p.errs.String(), "job folder did not get its standard input and is cancelled: ") || !strings.Contains(p.errs.String(), "could not be read") {
			t.Errorf("%v, %s", err, p.errs.String())
		}
	})
}

// A loop that reads a file keeps its lines, and one that reads a pipe does so with -n.
func TestRunInALoop(t *testing.T) {
	c := newInputCluster(t, "n1")
	c.file("list", []byte("one\ntwo\nthree\n"))
	for _, script := range []string{
		`while read -r line; do "$PIGEON" run -- echo "$line"; done < list`,
		`cat list | while read -r line; do "$PIGEON" run -n -- echo "$line"; done`,
	} {
		p := c.command(nil, "sh", "-c", script)
		if err := p.Run(); err != nil || p.out.String() != "one\ntwo\nthree\n" {
			t.Errorf("%s: %v, %q, %s", script, err, p.out.String(), p.errs.String())
		}
	}
}

// When its node dies, the program is started elsewhere and gets all its input, of a file or of a
// pipe that can be kept; the input of a longer pipe is lost, and with it the job.
func TestRunGivesInputAgain(t *testing.T) {
	c := newInputCluster(t, "n1", "n2", "n3")
	text := someInput(4_000_000)
	type follower struct {
		*runner
		node  string
		input io.WriteCloser // nil: a file
		rest  []byte
	}
	started := func(key string, first int, stdin io.Reader, rest []byte) *follower {
		t.Helper()
		// It waits for what it gets while its node is killed, and for the gate.
		f := &follower{runner: c.run(stdin, "--key", key, "--dir", c.dir, "--", "sh", "-c",
			"head -c "+fmt.Sprint(first)+" > "+key+".$PIGEON_ATTEMPT; echo $PIGEON_NODE > "+key+".new; mv "+key+".new "+key+"; until [ -e gate ]; do sleep 0.02; done; cat "+key+".$PIGEON_ATTEMPT -"), rest: rest}
		if stdin == nil {
			w, err := f.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			f.input = w
		}
		if err := f.Start(); err != nil {
			t.Fatal(err)
		}
		if f.input != nil {
			if _, err := f.input.Write(text[:first]); err != nil {
				t.Fatal(err)
			}
		}
		await.Until(t, "its first bytes are read", func() bool {
			node, err := os.ReadFile(c.path(key))
			f.node = strings.TrimSpace(string(node))
			return err == nil
		})
		return f
	}
	kill := func(f *follower) {
		t.Helper()
		n := c.nodes[f.node]
		_ = n.cmd.Process.Kill() // it may be gone
		_ = n.wait()             // likewise
	}
	short := started("short", 300_000, nil, text[300_000:600_000])
	file := started("file", 300_000, c.file("text", text), nil)
	kill(short)
	kill(file) // the same node, or another one: a third is left
	c.file("gate", nil)
	for _, f := range []*follower{short, file} {
		want := text
		if f.input != nil {
			want = text[:600_000]
			if _, err := f.input.Write(f.rest); err != nil || f.input.Close() != nil {
				t.Fatal(err)
			}
		}
		if err := f.Wait(); err != nil || !bytes.Equal(f.out.Bytes(), want) {
			t.Errorf("%v: %v, %d bytes of %d, %s", f.Args, err, f.out.Len(), len(want), f.errs.String())
		}
		if s := statusOfJob(t, f.Args[3]); s.Attempts < 2 {
			t.Errorf("%+v", s)
		}
	}
}

// A program whose input cannot be given again is not started on a part of it.
func TestRunFailsWhereInputIsLost(t *testing.T) {
	c := newInputCluster(t, "n1")
	p := c.run(bytes.NewReader(someInput(3<<20)), "--key", "long", "--retries", "1", "--dir", c.dir, "--", "sh", "-c",
		"if [ -e tried ]; then wc -c > size; else touch tried; cat > /dev/null; exit 9; fi")
	err := p.Run()
	for _, part := range []string{"job long did not get its standard input and is cancelled: ", "attempt 2 on node", "3145728 bytes were read, which can be read once only, and the first 1048576 are kept"} {
		if !strings.Contains(p.errs.String(), part) {
			t.Errorf("%q lacks %q", p.errs.String(), part)
		}
	}
	if p.ProcessState.ExitCode() != cli.ExitFailed {
		t.Errorf("%v", err)
	}
	await.Until(t, "the job is cancelled", func() bool {
		return statusOfJob(t, "long").State == api.StateCancelled
	})
	if text, err := os.ReadFile(c.path("size")); err == nil && len(text) > 0 {
		t.Errorf("its second attempt read an end-of-file: %s", text)
	}
}

// someInput returns bytes that differ wherever a mistake of an offset would show.
func someInput(n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return text
}
