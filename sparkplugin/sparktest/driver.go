package sparktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// Job is an application to be run. The zero value of a field takes the default
// given.
type Job struct {
	Verb    string   // of "pigeon spark"; default submit
	Master  string   // default: the cluster
	Conf    []string // key=value each; they override the defaults
	Options []string // others, before the application
	Class   string   // of the main method
	Script  string   // the application: a Python file or a jar
	Args    []string // its own arguments
	Env     []string // KEY=value, of the driver
	Stdin   string

	// Command is a program and all its arguments to be run in place of "pigeon
	// spark", in the same environment; Master to Args are ignored then.
	Command []string
}

// defaults keep an application of a test small: it has no web page, and Java
// compiles as little as possible, because it runs for seconds.
var defaults = []string{
	"spark.driver.defaultJavaOptions=" + lean, "spark.executor.defaultJavaOptions=" + lean,
	"spark.ui.enabled=false", "spark.ui.showConsoleProgress=false",
	"spark.driver.memory=512m", "spark.executor.memory=512m", "spark.sql.shuffle.partitions=8",
}

const lean = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

// command returns the command line of the process.
func (j *Job) command(program, master string) []string {
	if len(j.Command) > 0 {
		return j.Command
	}
	verb := j.Verb
	if verb == "" {
		verb = "submit"
	}
	if j.Master != "" {
		master = j.Master
	}
	words := []string{program, "spark", verb, "--master", master}
	for _, c := range slices.Concat(defaults, j.Conf) {
		words = append(words, "--conf", c)
	}
	words = append(words, j.Options...)
	if j.Class != "" {
		words = append(words, "--class", j.Class)
	}
	if j.Script != "" {
		words = append(words, j.Script)
	}
	return append(words, j.Args...)
}

// Driver is an application's own process, which may have children.
type Driver struct {
	Name               string
	Folder             string // its working folder; removed with the cluster
	*childproc.Process        // the JVM that Spark's launcher becomes, also for PySpark
	began              time.Time
}

// Submit starts an application and returns when its process has begun.
func (c *Cluster) Submit(s Spark, j Job) (*Driver, error) {
	c.mu.Lock()
	name := fmt.Sprintf("driver-%d", c.drivers)
	c.drivers++
	c.mu.Unlock()
	d := &Driver{Name: name, Folder: filepath.Join(c.dir, name)}
	if err := os.MkdirAll(filepath.Join(d.Folder, "local"), 0o755); err != nil {
		return nil, err
	}
	out, errOut := os.Create(d.file("stdout"))
	errs, errErrs := os.Create(d.file("stderr"))
	if err := errors.Join(errOut, errErrs); err != nil {
		return nil, err
	}
	defer out.Close()  //nolint:errcheck // the process has its own
	defer errs.Close() //nolint:errcheck // as above
	command := childproc.Command{
		Name: name, Argv: j.command(c.program, c.Master()), Dir: d.Folder, Stdout: out, Stderr: errs, Watchdog: true,
		Env: s.environment(append([]string{"SPARK_LOCAL_DIRS=" + filepath.Join(d.Folder, "local")}, j.Env...)...),
	}
	if j.Stdin != "" {
		command.Stdin = strings.NewReader(j.Stdin)
	}
	d.began = time.Now()
	var err error
	d.Process, err = c.daemons.StartClient(command)
	return d, err
}

func (d *Driver) file(name string) string { return filepath.Join(d.Folder, name) }

// Ended reports whether it has ended.
func (d *Driver) Ended() bool { return !d.Running() }

// End waits for its end and returns its exit status, 128 + n after signal n. An
// error means that it has not ended within the time and still runs.
func (d *Driver) End(within time.Duration) (int, error) {
	if !d.Process.Wait(within) {
		return 0, fmt.Errorf("%s has not ended within %v; its stderr ends:\n%s", d.Name, within, d.Tail(4000))
	}
	return d.Status(), nil
}

// Elapsed returns the time since its start.
func (d *Driver) Elapsed() time.Duration { return time.Since(d.began) }

// Stdout returns what it has written so far.
func (d *Driver) Stdout() string { return read(d.file("stdout")) }

// Stderr returns what it has written so far.
func (d *Driver) Stderr() string { return read(d.file("stderr")) }

// Tail returns the end of stderr, n bytes at most.
func (d *Driver) Tail(n int) string {
	text := d.Stderr()
	return text[max(0, len(text)-n):]
}

func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
