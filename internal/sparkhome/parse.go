package sparkhome

import (
	"fmt"
	"slices"
	"strings"
)

// valued are the options of spark-submit that take a value, in all lines from
// 3.5 to 4.3.
var valued = []string{
	"--archives", "--class", "--conf", "-c", "--deploy-mode", "--driver-class-path", "--driver-cores",
	"--driver-java-options", "--driver-library-path", "--driver-memory", "--exclude-packages", "--executor-cores",
	"--executor-memory", "--files", "--jars", "--keytab", "--kill", "--master", "--name", "--num-executors",
	"--packages", "--principal", "--properties-file", "--proxy-user", "--py-files", "--queue", "--remote",
	"--repositories", "--status", "--total-executor-cores",
}

// switches are the options without a value.
var switches = []string{"--help", "-h", "--load-spark-defaults", "--supervise", "--usage-error", "--verbose", "-v", "--version"}

// word is an option with its value, or any other word among the options.
type word struct {
	name  string // "" for a word that is no option of ours or Spark's
	value string
	text  []string // as it was given
}

// Arguments is a parsed command line.
type Arguments struct {
	words []word
	rest  []string // the application and its arguments; not parsed
	ours  map[string]string
}

// ParseArguments parses args. mixed is for programs that accept their own words among the
// options. ours are Pigeon's own options, all with a value; they are removed. It
// returns an error when one of them lacks its value; missing values of Spark's
// options are reported by Spark.
func ParseArguments(args []string, mixed bool, ours ...string) (*Arguments, error) {
	l := &Arguments{ours: map[string]string{}}
	for i := 0; i < len(args); {
		w, used := nextWord(args[i:], ours)
		switch {
		case w.name == "" && !mixed:
			l.rest = args[i:]
			return l, nil
		case slices.Contains(ours, w.name):
			if used == 1 && !strings.Contains(args[i], "=") {
				return nil, fmt.Errorf("flag %s lacks its value", w.name)
			}
			l.ours[w.name] = w.value
		default:
			l.words = append(l.words, w)
		}
		i += used
	}
	return l, nil
}

// nextWord parses the first word of args, which is not empty, and returns how many of
// args it used.
func nextWord(args, ours []string) (w word, used int) {
	first := args[0]
	known := func(name string) bool { return slices.Contains(valued, name) || slices.Contains(ours, name) }
	if slices.Contains(switches, first) {
		return word{name: first, text: args[:1]}, 1
	}
	if name, value, joined := strings.Cut(first, "="); joined && strings.HasPrefix(name, "--") && known(name) {
		return word{name, value, args[:1]}, 1
	}
	if !known(first) {
		return word{text: args[:1]}, 1
	}
	if len(args) == 1 {
		return word{name: first, text: args}, 1
	}
	return word{first, args[1], args[:2]}, 2
}

// Ours returns the value of one of Pigeon's own options.
func (l *Arguments) Ours(name string) (value string, given bool) {
	value, given = l.ours[name]
	return value, given
}

// Has reports whether one of these options was given.
func (l *Arguments) Has(names ...string) bool {
	return slices.ContainsFunc(l.words, func(w word) bool { return slices.Contains(names, w.name) })
}

// Value returns the value of an option; the last one counts, as in Spark.
func (l *Arguments) Value(name string) (value string, given bool) {
	if i := l.last(name); i >= 0 {
		return l.words[i].value, true
	}
	return "", false
}

func (l *Arguments) last(name string) int {
	for i, w := range slices.Backward(l.words) {
		if w.name == name {
			return i
		}
	}
	return -1
}

// Conf returns the value of a key set by --conf KEY=VALUE; the last one counts.
func (l *Arguments) Conf(key string) (value string, given bool) {
	for _, w := range slices.Backward(l.words) {
		if w.name == "--conf" || w.name == "-c" {
			if k, v, ok := strings.Cut(w.value, "="); ok && k == key {
				return v, true
			}
		}
	}
	return "", false
}

// Set sets the value of an option: where it was given last, else before all others.
func (l *Arguments) Set(name, value string) {
	w := word{name, value, []string{name, value}}
	if i := l.last(name); i >= 0 {
		l.words[i] = w
		return
	}
	l.words = slices.Insert(l.words, 0, w)
}

// Args returns the command line without Pigeon's own options.
func (l *Arguments) Args() []string {
	var args []string
	for _, w := range l.words {
		args = append(args, w.text...)
	}
	return append(args, l.rest...)
}
