package viaspark

import (
	"fmt"
	"strings"
)

// Main is the driver's class, in the plugin's jar.
const Main = "org.pigeonsched.spark.replay.Replay"

// Program starts drivers at one place. The options of spark-submit are added to it.
type Program struct {
	// Place is what errors call it: "this machine", "host a".
	Place string
	Argv  []string
	// Env is the whole environment; nil is that of this process.
	Env []string
	// Shell says that the words after Argv are read by a shell, as ssh has it.
	Shell bool
	// NotFound is what to do when a shell there says that it has no such program.
	NotFound string
}

// sshOptions: nobody is asked for a password, and a host that is gone is noticed
// within half a minute.
var sshOptions = []string{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"}

// OnHost starts drivers on a host by ssh, by the program pigeon there, which finds
// Spark and the plugin there.
func OnHost(host, pigeon string) Program {
	argv := append(append([]string{"ssh"}, sshOptions...), "--", host)
	return Program{Place: "host " + host, Argv: append(argv, quoted(pigeon), "spark", "submit"), Shell: true,
		NotFound: "name the path of pigeon on the hosts with --host-pigeon"}
}

// CheckHost refuses what ssh would not take for a host.
func CheckHost(host string) error {
	if host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t\n'\"") {
		return fmt.Errorf("%q is no host; write HOST or USER@HOST, several with commas", host)
	}
	return nil
}

// quoted is the word as a shell reads it, unchanged.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// command is the whole command line of driver k.
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

// defaults of Spark's settings, which Options.Settings may say otherwise. A replay's
// tasks need nothing, and nobody looks at its page.
var defaults = []string{
	"spark.driver.memory=512m", "spark.executor.memory=512m", "spark.ui.enabled=false", "spark.log.level=WARN",
	"spark.ui.showConsoleProgress=false",
}

// internal is what spark-submit takes instead of an application of its own, when
// the class is in a jar that comes with --jars.
const internal = "spark-internal"

// submit returns the words for spark-submit.
func (o *Options) submit(k int) []string {
	words := []string{"--master", o.Master(k), "--name", fmt.Sprintf("replay, driver %d of %d", k, o.Drivers), "--class", Main}
	if o.Jar != "" {
		words = append(words, "--jars", o.Jar)
	}
	for _, setting := range append(append([]string(nil), defaults...), o.Settings...) {
		words = append(words, "--conf", setting)
	}
	return append(words, internal, "--executors", fmt.Sprint(o.Executors), "--within", fmt.Sprint(int(o.Within.Seconds())))
}
