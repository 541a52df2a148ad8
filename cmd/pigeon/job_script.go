package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// scriptMark begins the lines of a script that hold flags of its job.
const scriptMark = "#PIGEON"

// jobScript is a script of this machine, or of a job file, whose text is sent with its job.
type jobScript struct {
	path string // for messages; its last part names the script
	text []byte
	env  []string // variables of its lines
}

// findScript returns the script that the first argument names: a file here that begins with #!.
// It is nil for a program, which is looked for on the nodes; so is all that follows --.
func findScript(cmd *cobra.Command, argv []string) (*jobScript, error) {
	if len(argv) == 0 || cmd.ArgsLenAtDash() >= 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	path := argv[0]
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilnil // a program of the nodes
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the script cannot be sent: %w; make it readable, or run it where it lies on the nodes: pigeon submit -- %s", err, path)
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, api.MaxScript+1))
	if err != nil {
		return nil, fmt.Errorf("the script %s cannot be sent: %w", path, err)
	}
	s := &jobScript{path: path, text: text}
	switch isScript := bytes.HasPrefix(text, []byte("#!")); {
	case isScript && endsInReturn(text):
		interpreter, _, _ := bytes.Cut(text[len("#!"):], []byte("\n"))
		return nil, fmt.Errorf("%s, line 1: it ends in a carriage return, as in files from Windows, and no node has an interpreter %q; remove those at the ends of all lines, for instance by sed -i 's/\\r$//'", path, interpreter)
	case isScript:
		return s, checkScript(path, text)
	case bytes.HasPrefix(text, []byte("\ufeff#!")):
		return nil, fmt.Errorf("%s, line 1: it begins with a byte order mark before #!, and no node finds its interpreter so; save the file without one", path)
	case bytes.HasPrefix(text, []byte(scriptMark)) || bytes.Contains(text, []byte("\n"+scriptMark)):
		return nil, fmt.Errorf("%s has lines of %s, and its first line does not name its interpreter; begin it with #!/bin/sh or the like", path, scriptMark)
	}
	return nil, nil //nolint:nilnil // a program
}

// endsInReturn reports whether the first line of a script ends in a carriage return, which a system
// takes for a part of the interpreter's name or argument.
func endsInReturn(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasSuffix(first, []byte("\r"))
}

// apply sets the flags of the script's head that were not set before, and keeps its variables. The head ends with the
// first command. Lines after it that look like flags are reported as ignored.
func (s *jobScript) apply(cmd *cobra.Command, warn io.Writer) error {
	before := alreadySet(cmd.Flags())
	head := true
	for i, line := range strings.Split(string(s.text), "\n") {
		rest, marked := strings.CutPrefix(strings.TrimRight(line, "\r"), scriptMark)
		marked = marked && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
		switch trimmed := strings.TrimSpace(line); {
		case head && marked:
			if err := s.applyLine(cmd, rest, before); err != nil {
				return fmt.Errorf("%s, line %d: %w", s.path, i+1, err)
			}
		case marked:
			fmt.Fprintf(warn, "pigeon: %s, line %d: flags after the first command are ignored; move the line up to use them\n", s.path, i+1)
		case trimmed != "" && trimmed[0] != '#':
			head = false
		}
	}
	return nil
}

// notInScripts are the flags that a script cannot have.
var notInScripts = map[string]bool{"file": true, "schema": true, "help": true}

// applyLine sets the flags of one line.
func (s *jobScript) applyLine(cmd *cobra.Command, line string, before map[string]bool) error {
	words, err := shellWords(line)
	if err != nil {
		return err
	}
	fs := cmd.Flags()
	err = fs.ParseAll(words, func(f *pflag.Flag, value string) error {
		switch {
		case notInScripts[f.Name]:
			return fmt.Errorf("--%s is for the command line, not for a script", f.Name)
		case f.Name == "env":
			s.env = append(s.env, value)
			return nil
		case before[f.Name]:
			return nil
		}
		return fs.Set(f.Name, value)
	})
	if errors.Is(err, pflag.ErrHelp) {
		return errors.New("--help is for the command line, not for a script")
	}
	if err != nil {
		_, unknown := errors.AsType[*pflag.NotExistError](err)
		if _, invalid := errors.AsType[*pflag.InvalidValueError](err); unknown || invalid {
			return explainFlag(cmd, err)
		}
		return err
	}
	if rest := fs.Args(); len(rest) > 0 {
		return fmt.Errorf("%q is no flag; write --FLAG VALUE", rest[0])
	}
	return nil
}

// argv returns the command line of a script.
func (s *jobScript) argv(arguments []string) []string {
	return append([]string{filepath.Base(s.path)}, arguments...)
}
