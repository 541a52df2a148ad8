package request

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// scriptMark begins the lines of a script that hold flags of its job.
const scriptMark = "#PIGEON"

// Script is a script of this machine, or of a job file, whose text is sent with its job.
type Script struct {
	Path string // for messages
	name string // that it has on the node
	Text []byte
	Env  []string // variables of its lines
}

// findScript returns the script that the first argument names: a file here that begins with #!, or
// standard input (-). It is nil for a program, which is looked for on the nodes; so is all that
// follows --.
func findScript(job *Flags, argv []string) (*Script, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	word, input := argv[0], job.cmd.InOrStdin()
	if job.cmd.ArgsLenAtDash() >= 0 {
		return nil, nil //nolint:nilnil // a program of the nodes
	}
	s := &Script{Path: word, name: scriptOfFile}
	if word != "-" {
		switch info, err := os.Stat(word); {
		case err != nil:
			return nil, job.checkAbsent(word)
		case info.IsDir():
			return nil, fmt.Errorf("%s is a folder, and no program; name a script or a program", word)
		case info.Mode().IsRegular():
			s.name = filepath.Base(word)
		}
	} else if slices.Contains(job.EnvFiles, "-") {
		return nil, errors.New("the script and --env-file would both be standard input; name a file for one of them")
	}
	var err error
	s.Path, s.Text, err = readText(word, input, api.MaxScript)
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return nil, fmt.Errorf("the script cannot be sent: %w; make it readable, or run it where it lies on the nodes: pigeon %s -- %s", err, job.cmd.Name(), word)
	} else if err != nil && !errors.Is(err, files.ErrTooLong) {
		return nil, fmt.Errorf("the script %s cannot be sent: %w", s.Path, err)
	}
	return s.orProgram(job, word, err != nil)
}

// UseScript takes the script that a command line names, with its lines, and returns the command line
// of the job; fromInput is set when the script was standard input.
func (j *Flags) UseScript(argv []string) (command []string, fromInput bool, err error) {
	s, err := findScript(j, argv)
	if s == nil || err != nil {
		return argv, false, err
	}
	if err := s.Apply(j.cmd, j.cmd.ErrOrStderr()); err != nil {
		return nil, false, err
	}
	j.Script, j.FileEnv = s.Text, s.Env
	return s.argv(argv[1:]), argv[0] == "-", nil
}

// orProgram returns the script, or nil where the file is a program, which nodes have under that name.
func (s *Script) orProgram(job *Flags, word string, tooLong bool) (*Script, error) {
	isText := utf8.Valid(s.Text) && !bytes.ContainsRune(s.Text, 0) && !tooLong
	switch {
	case bytes.HasPrefix(s.Text, []byte("#!")) && endsInReturn(s.Text):
		interpreter, _, _ := bytes.Cut(s.Text[len("#!"):], []byte("\n"))
		return nil, fmt.Errorf("%s, line 1: it ends in a carriage return, as in files from Windows, and no node has an interpreter %q; remove those at the ends of all lines, for instance by sed -i 's/\\r$//'", s.Path, interpreter)
	case bytes.HasPrefix(s.Text, []byte("#!")) && tooLong:
		return nil, fmt.Errorf("the script %s has more than %d bytes, the limit of one that is sent with its job; put it on the nodes and run it with -- %[1]s", s.Path, api.MaxScript)
	case bytes.HasPrefix(s.Text, []byte("#!")):
		return s, nil
	case word == "-", bytes.HasPrefix(s.Text, []byte(scriptMark)), bytes.Contains(s.Text, []byte("\n"+scriptMark)):
		return nil, fmt.Errorf("%s: the first line does not name the interpreter of the script; begin it with #!/bin/sh or the like", s.Path)
	case inPath(word):
		return nil, nil //nolint:nilnil // a program that is probably on the nodes, too
	case isText:
		return nil, fmt.Errorf("%s is a file here whose first line does not name its interpreter, so it cannot be sent as a script; begin it with #!/bin/sh or the like. A program of that name on the nodes is 'pigeon %s -- %[1]s'", word, job.cmd.Name())
	case !strings.Contains(word, "/") || job.isMissing(word):
		return nil, fmt.Errorf("%s is a program of this machine, and nodes do not have it under that name; send it with 'pigeon %s --stage %[1]s -- ./%[3]s', or name it by its full path on the nodes", word, job.cmd.Name(), filepath.Base(word))
	}
	return nil, nil //nolint:nilnil // a program
}

// inPath reports whether a word is the name of a program that this machine finds in its PATH.
func inPath(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil && !strings.Contains(word, "/")
}

// scriptEndings are those of file names that are no programs' names.
var scriptEndings = []string{".sh", ".bash", ".zsh", ".ksh", ".csh", ".py", ".pl", ".rb", ".r", ".jl", ".lua", ".js", ".m", ".slurm", ".sbatch", ".pbs", ".job", ".bat", ".yaml", ".yml", ".json"}

// checkAbsent refuses a word that looks like a file and names none, where its job could only fail, and
// warns of one that only the nodes may have.
func (j *Flags) checkAbsent(word string) error {
	ending := slices.Contains(scriptEndings, strings.ToLower(filepath.Ext(word)))
	switch {
	case !strings.Contains(word, "/") && !ending, inPath(word), j.isStaged(word):
	case filepath.IsAbs(word):
		j.sayf("%s is no file of this machine; its nodes must have it", word)
	case j.dir != "":
		if _, err := os.Stat(filepath.Join(j.dir, word)); err != nil {
			j.sayf("%s is no file of this machine, neither here nor in --dir %s; the nodes must have it there", word, j.dir)
		}
	default:
		return fmt.Errorf("there is no file %s here, and its name is that of no program; correct it, or write -- before it when the nodes have it: pigeon %s -- %[1]s", word, j.cmd.Name())
	}
	return nil
}

// isMissing reports whether a word is a path relative to the working folder of an attempt that has
// nothing of that name.
func (j *Flags) isMissing(word string) bool {
	return strings.Contains(word, "/") && !filepath.IsAbs(word) && j.dir == "" && !j.isStaged(word)
}

// isStaged reports whether a word names a file that --stage puts into the working folder, or one in a
// folder of it.
func (j *Flags) isStaged(word string) bool {
	return slices.ContainsFunc(j.stage, func(argument string) bool {
		from, name, named := strings.Cut(argument, "=")
		if !named {
			name = filepath.Base(from)
		}
		name = filepath.Clean(name)
		return name == "." || filepath.Clean(word) == name || strings.HasPrefix(filepath.Clean(word), name+"/")
	})
}

func (j *Flags) sayf(format string, args ...any) {
	fmt.Fprintf(j.cmd.ErrOrStderr(), "pigeon: "+format+"\n", args...)
}

// endsInReturn reports whether the first line of a script ends in a carriage return, which a system
// takes for a part of the interpreter's name or argument.
func endsInReturn(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasSuffix(first, []byte("\r"))
}

// Apply sets the flags of the script's head that were not set before, and keeps its variables. The head ends with the
// first command. Lines after it that look like flags are reported as ignored.
func (s *Script) Apply(cmd *cobra.Command, warn io.Writer) error {
	before := alreadySet(cmd.Flags())
	head, unread, first := true, 0, 0
	for i, line := range strings.Split(string(s.Text), "\n") {
		rest, marked := strings.CutPrefix(strings.TrimRight(line, "\r"), scriptMark)
		marked = marked && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
		switch trimmed := strings.TrimSpace(line); {
		case head && marked:
			if err := s.applyLine(cmd, rest, before); err != nil {
				return fmt.Errorf("%s, line %d: %w", s.Path, i+1, err)
			}
		case marked:
			fmt.Fprintf(warn, "pigeon: %s, line %d: flags after the first command are ignored; move the line up to use them\n", s.Path, i+1)
		case head && unreadOption.MatchString(line):
			if unread++; unread == 1 {
				first = i + 1
			}
		case trimmed != "" && trimmed[0] != '#':
			head = false
		}
	}
	if unread > 0 {
		fmt.Fprintf(warn, "pigeon: %s: %s options and %s not read, from line %d on; write %s --FLAG VALUE (docs/jobs.md, \"For users of Slurm\", has the flags)\n",
			s.Path, sched.Count(unread, "line looks like", "lines look like"), map[bool]string{true: "is", false: "are"}[unread == 1], first, scriptMark)
	}
	return nil
}

// unreadOption matches a line that holds options for another batch system, or that was to be one of
// scriptMark.
var unreadOption = regexp.MustCompile(`^#\s*(?i:SBATCH|PBS|BSUB|COBALT|MSUB|OAR|FLUX|\$|PIGEON)(?:\s*[:=]?\s*--[A-Za-z]|[\s:=]+-[A-Za-z]\w*\b)|^#\s*PIGEON[:=]`)

// notInScripts are the flags that a script cannot have.
var notInScripts = map[string]bool{"file": true, "schema": true, "help": true, "failed-of": true}

// applyLine sets the flags of one line.
func (s *Script) applyLine(cmd *cobra.Command, line string, before map[string]bool) error {
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
			s.Env = append(s.Env, value)
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
			return cli.ExplainFlag(cmd, err)
		}
		return err
	}
	if rest := fs.Args(); len(rest) > 0 {
		return fmt.Errorf("%q is no flag; write --FLAG VALUE", rest[0])
	}
	return nil
}

// argv returns the command line of a script.
func (s *Script) argv(arguments []string) []string {
	return append([]string{s.name}, arguments...)
}
