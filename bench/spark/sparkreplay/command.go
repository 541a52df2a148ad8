package sparkreplay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/spark/driver"
	"github.com/pigeon-sched/pigeon/internal/shellwords"
)

// Program starts drivers at one place. The options of spark-submit are added to it.
type Program struct {
	// Place is what errors call it: "this machine", "host a".
	Place string
	Argv  []string
	// Env is the whole environment; nil is that of this process.
	Env []string
	// Shell reports whether a shell reads the words after Argv, as with ssh.
	Shell bool
	// Settings of Spark, KEY=VALUE, for the drivers of this place.
	Settings []string
	// NotFound is what a user can do when a shell there does not find the program.
	NotFound string
}

// sshOptions disable the password prompt and detect the loss of a host within half a
// minute.
var sshOptions = []string{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"}

// Remote is where the hosts have what starts drivers.
type Remote struct {
	Pigeon string // this program, which finds Spark and the plugin there
	Spark  string // Spark's folder; "" where Pigeon finds it
	// LocalIP is the address of the host for Spark, which otherwise asks for that of the host's
	// name; "" leaves that.
	LocalIP string
}

// OnHost starts drivers on a host by ssh.
func (r Remote) OnHost(host string) Program {
	return r.By("host "+host, append(append([]string{"ssh"}, sshOptions...), "--", host))
}

// By starts drivers at a place by the words of ssh that lead there. words are added to those of
// Pigeon.
func (r Remote) By(place string, ssh []string, words ...string) Program {
	argv := append(slices.Clone(ssh), "env")
	for _, v := range []struct{ name, value string }{{"SPARK_HOME", r.Spark}, {"SPARK_LOCAL_IP", r.LocalIP}} {
		if v.value != "" {
			argv = append(argv, shellwords.Quote(v.name+"="+v.value))
		}
	}
	argv = append(argv, shellwords.Quote(r.Pigeon), "spark", "submit")
	for _, word := range words {
		argv = append(argv, shellwords.Quote(word))
	}
	return Program{Place: place, Argv: argv, Shell: true, NotFound: "name the path of pigeon on the hosts with --host-pigeon"}
}

// CheckHost returns why a word is no host for ssh.
func CheckHost(host string) error {
	if host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t\n'\"") {
		return fmt.Errorf("%q is no host; write HOST or USER@HOST, several with commas", host)
	}
	return nil
}

// command returns the whole command line of driver k.
func (o *Options) command(k int) (p *Program, argv []string) {
	p = &o.Programs[k%len(o.Programs)]
	argv = append(argv, p.Argv...)
	for _, word := range o.submit(k, p) {
		if p.Shell {
			word = shellwords.Quote(word)
		}
		argv = append(argv, word)
	}
	return p, argv
}

// defaults are settings of Spark, which Options.Settings overrides. A replay's tasks
// need little memory, and its web page is not used.
var defaults = []string{
	"spark.driver.memory=512m", "spark.executor.memory=512m", "spark.ui.enabled=false", "spark.log.level=WARN",
	"spark.ui.showConsoleProgress=false",
}

// internal is the name that spark-submit accepts instead of an application when the
// class is in a jar of --jars.
const internal = "spark-internal"

// submit returns the words for spark-submit.
func (o *Options) submit(k int, p *Program) []string {
	words := []string{"--master", o.Master(k), "--name", fmt.Sprintf("replay, driver %d of %d", k, o.Drivers), "--class", driver.Class}
	if o.Jar != "" {
		words = append(words, "--jars", o.Jar)
	}
	for _, setting := range slices.Concat(defaults, p.Settings, o.Settings) {
		words = append(words, "--conf", setting)
	}
	return append(words, internal, "--executors", fmt.Sprint(o.Executors), "--within", fmt.Sprint(int(o.Within.Seconds())))
}
