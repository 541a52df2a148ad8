package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/rendezvous"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/spark"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/pigeon-sched/pigeon/internal/sparkhome/sparkhometest"
	"github.com/pigeon-sched/pigeon/internal/tokens"
)

// sparkUser is a user with a Spark made by the test, in a separate environment. Its
// programs print their arguments.
type sparkUser struct {
	home, jar string
	env       spark.Variables
}

const saysAll = `#!/bin/sh
echo "program $(basename "$0")"
echo "home $SPARK_HOME"
echo "local $SPARK_LOCAL_IP"
echo "python $PYSPARK_PYTHON"
for a in "$@"; do echo "arg $a"; done
`

func newSparkUser(t *testing.T, version, script string) *sparkUser {
	t.Helper()
	var programs []string
	for _, p := range spark.Programs {
		programs = append(programs, p.Name)
	}
	fake := sparkhometest.NewFake(t, version, script, programs...)
	return &sparkUser{home: fake.Home, jar: fake.Jar, env: fake.Environ}
}

// command is the program itself, in its own process: it becomes Spark.
func (u *sparkUser) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = u.env
	return c
}

func (u *sparkUser) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := u.command(t, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestSparkGetsItsCommandLine: each program is called with the master, the jar and
// all that it was given, in the user's environment.
func TestSparkGetsItsCommandLine(t *testing.T) {
	t.Parallel()
	u := newSparkUser(t, "4.1.4", saysAll)
	for _, c := range []struct{ args, program, local, want string }{
		{"submit --frontend 127.0.0.1:7,localhost:8 job.py --master x", "spark-submit", "127.0.0.1", "--master spark-pigeon://127.0.0.1:7,localhost:8 --jars JAR job.py --master x"},
		{"submit --master pigeon://far:7 --jars a.jar --name n job.jar", "spark-submit", "", "--master spark-pigeon://far:7 --jars a.jar,JAR --name n job.jar"},
		{"submit --conf spark.master=pigeon://127.0.0.1:7 job.jar", "spark-submit", "127.0.0.1", "--master spark-pigeon://127.0.0.1:7 --jars JAR --conf spark.master=pigeon://127.0.0.1:7 job.jar"},
		{"submit --master pigeon://127.0.0.1:7 --conf spark.driver.host=h job.jar", "spark-submit", "", "--jars JAR --master spark-pigeon://127.0.0.1:7 --conf spark.driver.host=h job.jar"},
		{"submit --master pigeon://h:7 --jars x/pigeon-spark-4_2.13.jar job.jar", "spark-submit", "", "--master spark-pigeon://h:7 --jars x/pigeon-spark-4_2.13.jar job.jar"},
		{"submit --master local[2] job.py", "spark-submit", "", "--master local[2] job.py"},
		{"submit --version", "spark-submit", "", "--version"},
		{"pyspark --remote sc://h:1", "pyspark", "", "--remote sc://h:1"},
		{"sql --frontend h:7 -e q --database d", "spark-sql", "", "--master spark-pigeon://h:7 --jars JAR -e q --database d"},
		{"shell -i init.scala --frontend=h:7", "spark-shell", "", "--master spark-pigeon://h:7 --jars JAR -i init.scala"},
		{"pyspark --frontend h:7", "pyspark", "", "--master spark-pigeon://h:7 --jars JAR"},
	} {
		code, out, errs := u.run(t, append([]string{"spark"}, strings.Fields(c.args)...)...)
		want := fmt.Sprintf("program %s\nhome %s\nlocal %s\npython \n", c.program, u.home, c.local)
		for a := range strings.FieldsSeq(strings.ReplaceAll(c.want, "JAR", u.jar)) {
			want += "arg " + a + "\n"
		}
		if code != cli.ExitDone || out != want || !strings.HasPrefix(errs, "Spark 4.1.4 (Scala 2.13) in "+u.home) {
			t.Errorf("pigeon spark %s: status %d\n%s%s; want\n%s", c.args, code, out, errs, want)
		}
	}
}

// TestSparkTakesTheRunningDev: without a word about the cluster it is the one that
// the other commands find; Spark's own properties come before it when they name a
// Pigeon, and are left aside when they name another manager.
func TestSparkTakesTheRunningDev(t *testing.T) {
	u := newSparkUser(t, "3.5.9", saysAll)
	t.Setenv("XDG_RUNTIME_DIR", u.env.Get("XDG_RUNTIME_DIR"))
	notice, err := rendezvous.Publish(rendezvous.Path(), rendezvous.Dev{PID: os.Getpid(), Frontends: []string{"127.0.0.1:5", "127.0.0.1:6"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := notice.Withdraw(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct{ properties, environment, args, want string }{
		{"", "", "", "spark-pigeon://127.0.0.1:5,127.0.0.1:6"},
		{"spark.master yarn", "", "", "spark-pigeon://127.0.0.1:5,127.0.0.1:6"},
		{"spark.master pigeon://p:1", "", "", "spark-pigeon://p:1"},
		{"spark.master pigeon://p:1", "", "--frontend f:1", "spark-pigeon://f:1"},
		{"", "e:1", "", "spark-pigeon://e:1"},
		{"", "e:1", "--frontend f:1", "spark-pigeon://f:1"},
		{"spark.master pigeon://p:1", "e:1", "--master pigeon://m:1 --frontend f:1", "spark-pigeon://m:1"},
	} {
		conf := t.TempDir()
		if err := os.WriteFile(filepath.Join(conf, "spark-defaults.conf"), []byte(c.properties), 0o600); err != nil {
			t.Fatal(err)
		}
		u.env.Set("SPARK_CONF_DIR", conf)
		u.env.Set("PIGEON_FRONTEND", c.environment)
		code, out, errs := u.run(t, append([]string{"spark", "submit"}, strings.Fields(c.args+" job.py")...)...)
		if code != cli.ExitDone || !strings.Contains(out, "arg --master\narg "+c.want+"\n") || !strings.Contains(errs, "master "+c.want+"\n") {
			t.Errorf("%+v: status %d\n%s%s", c, code, out, errs)
		}
	}
}

// TestSparkProvesWhoCalls: the plugin gets the names of the files, never their content, and only
// for clusters on other machines unless they are named.
func TestSparkProvesWhoCalls(t *testing.T) {
	t.Parallel()
	u := newSparkUser(t, "3.5.9", saysAll)
	own := filepath.Join(u.env.Get("XDG_CONFIG_HOME"), "pigeon")
	token, ca := filepath.Join(own, "token"), filepath.Join(own, "ca.pem")
	text, _, err := tokens.Create(filepath.Join(t.TempDir(), "tokens"), tokens.Order{User: "a", Role: "user"}, time.Now())
	other := filepath.Join(t.TempDir(), "other")
	if err := errors.Join(err, os.MkdirAll(own, 0o700), os.WriteFile(token, []byte(text+"\n"), 0o600), os.WriteFile(ca, nil, 0o600), os.WriteFile(other, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	const tokenKey, caKey = "spark.pigeon.token.file=", "spark.pigeon.tls.ca="
	for _, c := range []struct {
		args      string
		has, lack []string
	}{
		{"--master pigeon://h.example.org:1", []string{tokenKey + token, caKey + ca}, nil},
		{"--master pigeon://127.0.0.1:1", nil, []string{tokenKey, caKey}},
		{"--master local[2]", nil, []string{tokenKey, caKey}},
		{"--frontend 127.0.0.1:1 --token-file " + other, []string{tokenKey + other}, []string{caKey}},
		{"--master pigeon://h:1 --token-file=" + other + " --tls-ca " + other, []string{tokenKey + other, caKey + other}, []string{ca}},
		{"--master pigeon://h:1 --conf " + tokenKey + "/x", []string{tokenKey + "/x", caKey + ca}, []string{tokenKey + token}},
	} {
		code, out, errs := u.run(t, append([]string{"spark", "submit"}, strings.Fields(c.args+" job.py")...)...)
		if code != cli.ExitDone || strings.Contains(out+errs, text) {
			t.Errorf("%s: status %d\n%s%s", c.args, code, out, errs)
		}
		for _, has := range c.has {
			if !strings.Contains(out, "arg "+has+"\n") {
				t.Errorf("%s lacks %s:\n%s", c.args, has, out)
			}
		}
		for _, lack := range c.lack {
			if strings.Contains(out, lack) {
				t.Errorf("%s has %s:\n%s", c.args, lack, out)
			}
		}
	}
	if err := os.Chmod(token, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := u.run(t, "spark", "submit", "--master", "pigeon://h:1", "job.py"); code != cli.ExitUsage || out != "" || !strings.Contains(errs, "chmod 600 "+token) {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
}

// TestSparkPythonOfTheWheel: the executors receive the interpreter that the wheel
// lies in, unless the user names another.
func TestSparkPythonOfTheWheel(t *testing.T) {
	u := newSparkUser(t, "4.1.4", saysAll)
	env := t.TempDir()
	packages, python := filepath.Join(env, "lib", "python3.11", "site-packages"), filepath.Join(env, "bin", "python3")
	if err := errors.Join(os.MkdirAll(packages, 0o700), os.MkdirAll(filepath.Dir(python), 0o700), os.WriteFile(python, nil, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(u.home, filepath.Join(packages, "pyspark")); err != nil {
		t.Fatal(err)
	}
	u.env.Set("SPARK_HOME", filepath.Join(packages, "pyspark"))
	for _, own := range []string{"", "/mine/python"} {
		u.env.Set("PYSPARK_PYTHON", own)
		want := python
		if own != "" {
			want = own
		}
		if code, out, errs := u.run(t, "spark", "submit", "--frontend", "h:1", "job.py"); code != cli.ExitDone || !strings.Contains(out, "python "+want+"\n") {
			t.Errorf("status %d\n%s%s", code, out, errs)
		}
	}
}

// TestSparkExitStatus: it is Spark's own, also that of a signal, and signals reach
// Spark: the process that was started became it.
func TestSparkExitStatus(t *testing.T) {
	u := newSparkUser(t, "4.1.4", "#!/bin/sh\nexit 101\n")
	if code, _, errs := u.run(t, "spark", "submit", "--frontend", "h:1", "job.py"); code != 101 {
		t.Errorf("status %d: %s", code, errs)
	}
	u = newSparkUser(t, "4.1.4", "#!/bin/sh\ntrap 'exit 42' TERM\necho ready\nread never\n")
	c := u.command(t, "spark", "sql", "--frontend", "h:1")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	c.Stdout = &firstWrite{done: ready}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-ready
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// A shell that waits for input runs its trap when the read returns.
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if _ = c.Wait(); c.ProcessState.ExitCode() != 42 {
		t.Errorf("after SIGTERM: %v", c.ProcessState)
	}
}

// firstWrite closes done when something is written.
type firstWrite struct{ done chan struct{} }

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.done != nil {
		close(w.done)
		w.done = nil
	}
	return len(p), nil
}

func TestSparkRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, version, unset, set, args string
		want                            []string
	}{
		{"SPARK_HOME wrong", "4.1.4", "", "SPARK_HOME=/absent", "submit --frontend h:1 job.py", []string{"SPARK_HOME", "/absent", "bin/spark-submit"}},
		{"no Spark", "4.1.4", "SPARK_HOME", "PATH=/absent", "shell --frontend h:1", []string{"no Spark found", "pigeon spark setup"}},
		{"no Java", "4.1.4", "JAVA_HOME", "PATH=/absent", "sql --frontend h:1", []string{"Java", "JAVA_HOME"}},
		{"4.4", "4.4.0", "", "", "submit --frontend h:1 job.py", []string{"4.4", "Spark 4.0, 4.1, 4.2 (Scala 2.13)", "Spark 4.3 (Scala 2.13)"}},
		{"jar missing", "4.1.4", sparkhome.JarVariable, "", "pyspark --frontend h:1", []string{"pigeon-spark-4_2.13.jar", "make spark"}},
		{"no cluster", "4.1.4", "", "", "submit job.py", []string{"no cluster found", "pigeon dev"}},
		{"bad frontend", "4.1.4", "", "", "submit --frontend nowhere job.py", []string{"nowhere", "host:port"}},
		{"flag without value", "4.1.4", "", "", "submit --frontend", []string{"--frontend", "value"}},
		{"cluster mode", "4.1.4", "", "", "submit --master pigeon://h:1 --deploy-mode cluster job.jar", []string{"--deploy-mode cluster", "spark-pigeon://h:1", "leave"}},
		{"setup of a line that is not served", "4.1.4", "", "", "setup --version 4.4.0 /absent/x", []string{"4.4.0", "3.5"}},
		{"setup without a folder", "4.1.4", "", "", "setup", []string{"name a folder"}},
		{"an unknown word", "4.1.4", "", "", "submt", []string{`"submit"`}},
	} {
		u := newSparkUser(t, c.version, saysAll)
		if c.unset != "" {
			u.env.Set(c.unset, "")
		}
		if name, value, ok := strings.Cut(c.set, "="); ok {
			u.env.Set(name, value)
		}
		code, out, errs := u.run(t, append([]string{"spark"}, strings.Fields(c.args)...)...)
		if code != cli.ExitUsage || out != "" {
			t.Errorf("%s: status %d, printed %s", c.name, code, out)
		}
		for _, w := range c.want {
			if !strings.Contains(errs, w) {
				t.Errorf("%s: %q does not contain %q", c.name, errs, w)
			}
		}
	}
}

func TestSparkHelp(t *testing.T) {
	for _, p := range spark.Programs {
		code, out, errs := program(t, "spark", p.Verb, "--help")
		if code != cli.ExitDone || !strings.Contains(out, p.Name) || !strings.Contains(out, "--frontend") || errs != "" {
			t.Errorf("%s: %d %s%s", p.Verb, code, out, errs)
		}
	}
}
