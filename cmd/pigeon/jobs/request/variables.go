package request

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// maxEnvFile bounds the bytes of a file of variables.
const maxEnvFile = 1 << 20

// variables returns those of a job file, of a script's lines, and of the flags --env-file and --env, in this order: a
// later one replaces an earlier one of the same name. Its errors name variables and lines, and
// show no value.
func (j *Flags) variables() (env []string, err error) {
	for _, variable := range j.FileEnv {
		value, err := withValue(variable)
		if err != nil {
			return nil, fmt.Errorf("env: %w", err)
		}
		env = append(env, value)
	}
	for _, path := range j.EnvFiles {
		list, err := readVariables(path, j.cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		env = append(env, list...)
	}
	for i, variable := range j.env {
		if name, _, _ := strings.Cut(variable, "="); name == "" {
			return nil, fmt.Errorf("--env number %d names no variable; write KEY=value, or KEY to take it from your environment", i+1)
		}
		value, err := withValue(variable)
		if err != nil {
			return nil, fmt.Errorf("--env %w", err)
		}
		env = append(env, value)
	}
	return lastOfEach(env), nil
}

// withValue takes the value of a variable without one from the caller's environment.
func withValue(variable string) (string, error) {
	name, _, given := strings.Cut(variable, "=")
	if given {
		return variable, nil
	}
	value, set := os.LookupEnv(name)
	if !set {
		return "", fmt.Errorf("%s: your environment has no such variable; write %s=value", name, name)
	}
	return name + "=" + value, nil
}

// readVariables reads the lines KEY=value of a file, or with the path - of the input. Empty lines
// and those that begin with # are ignored; a value is all that follows the first =, quotes and
// spaces included. KEY alone is taken from the caller's environment.
func readVariables(path string, input io.Reader) (env []string, err error) {
	name, text, err := readText(path, input, maxEnvFile)
	switch _, unread := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, files.ErrTooLong):
		return nil, fmt.Errorf("--env-file %s has more than %d bytes, the limit; have the program read a file instead", name, maxEnvFile)
	case unread:
		return nil, fmt.Errorf("--env-file: %w; name a file that you may read, or - for standard input", err)
	case err != nil:
		return nil, fmt.Errorf("--env-file %s: %w", name, err)
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		variable, fault := parseVariable(line)
		if fault != "" {
			return nil, fmt.Errorf("--env-file %s, line %d: %s; write KEY=value, or KEY to take it from your environment", name, number, fault)
		}
		env = append(env, variable)
	}
	return env, nil
}

// readText reads a file of the user, or with the path - the input, and returns its name for
// messages.
func readText(path string, input io.Reader, most int64) (name string, text []byte, err error) {
	if path == "-" {
		text, err = files.Text(input, most)
		return "standard input", text, err
	}
	text, err = files.ReadText(path, most)
	return path, text, err
}

// parseVariable reads a line; the fault names what is wrong with it, and shows no value.
func parseVariable(line string) (variable, fault string) {
	name, _, given := strings.Cut(line, "=")
	switch {
	case !utf8.ValidString(line):
		return "", "it is not text in UTF-8"
	case strings.ContainsRune(line, 0):
		return "", "it holds a zero byte"
	case name == "":
		return "", "there is no name before the ="
	case strings.ContainsAny(name, " \t"):
		if !given {
			return "", "it has no ="
		}
		return "", "there is a space in what is before the ="
	case given:
		return line, ""
	}
	value, set := os.LookupEnv(name)
	if !set {
		return "", "it has no =, and your environment has no variable of that name"
	}
	return name + "=" + value, ""
}

// lastOfEach keeps the last variable of each name.
func lastOfEach(env []string) []string {
	at := map[string]int{}
	for i, v := range env {
		name, _, _ := strings.Cut(v, "=")
		at[name] = i
	}
	i := -1
	return slices.DeleteFunc(env, func(v string) bool {
		i++
		name, _, _ := strings.Cut(v, "=")
		return at[name] != i
	})
}
