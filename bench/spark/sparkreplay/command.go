package sparkreplay

import (
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/spark/driver"
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
	// NotFound is what a user can do when a shell there does not find the program.
	NotFound string
}

// sshOptions disable the password prompt and detect the loss of a host within half a
// minute.
var sshOptions = []string{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"}

// OnHost starts drivers on a host by ssh, by the program pigeon there, which finds
// Spark and the plugin there.
func OnHost(host, pigeon string) Program {
	argv := append(append([]string{"ssh"}, sshOptions...), "--", host)
	return Program{Place: "host " + host, Argv: append(argv, quoted(pigeon), "spark", "submit"), Shell: true,
		NotFound: "name the path of pigeon on the hosts with --host-pigeon"}
}

// CheckHost returns why a word is no host for ssh.
func CheckHost(host string) error {
	if host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t\n'\"") {
		return fmt.Errorf("%q is no host; write HOST or USER@HOST, several with commas", host)
	}
	return nil
}

// quoted returns the word so that a shell reads it unchanged.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// command returns the whole command line of driver k.
func (o *Options) command(k int) (p *Program, argv []string) {
	p = &o.Programs[k%len(o.Programs)]
	argv = append(argv, p.Argv...)
	for _, word := range o.submit(k) {
		if p.Shell {
			word = quoted(word)
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
func (o *Options) submit(k int) []string {
	words := []string{"--master", o.Master(k), "--name", fmt.Sprintf("replay, driver %d of %d", k, o.Drivers), "--class", driver.Class}
	if o.Jar != "" {
		words = append(words, "--jars", o.Jar)
	}
	for _, setting := range append(append([]string(nil), defaults...), o.Settings...) {
		words = append(words, "--conf", setting)
	}
	return append(words, internal, "--executors", fmt.Sprint(o.Executors), "--within", fmt.Sprint(int(o.Within.Seconds())))
}
