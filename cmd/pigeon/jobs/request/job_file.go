package request

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/nearest"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// MaxJobFile bounds the bytes of a job file.
const MaxJobFile = 1 << 20

// How the value of a key of a job file is written.
type valueForm uint8

const (
	oneValue valueForm = iota
	valueList
	valueMap
)

// FileKeys are the keys of a job file, in the order of its documentation. Each is the flag of
// submit of that name, with _ for -, but those without a flag.
var FileKeys = []FileKey{
	{Name: "name"}, {Name: "owner"}, {Name: "priority"}, {Name: "class"}, {Name: "estimate"},
	{Name: "command", form: valueList, doc: "the program and its arguments, each an element of the list; no shell reads them"},
	{Name: "script", doc: "in place of command: the text of a script, which is sent with the job; its first line names the interpreter (#!), and flags in lines #PIGEON at its head count before the other keys"},
	{Name: "arguments", form: valueList, doc: "of the script"},
	{Name: "tasks"}, {Name: "array"}, {Name: "max_running"}, {Name: "sleep"},
	{Name: "env", form: valueMap, doc: "variables to add to the environment; one without a value is taken from the submitter's environment"},
	{Name: "env_file", form: valueList}, {Name: "dir"}, {Name: "stage", form: valueList},
	{Name: "memory"}, {Name: "cpus"}, {Name: "time_limit"},
	{Name: "retries"}, {Name: "restartable"}, {Name: "no_suspend"}, {Name: "max_disconnect"},
	{Name: "after", form: valueList}, {Name: "key"},
}

// FileKey is one key. Its doc is that of its flag where it is empty.
type FileKey struct {
	Name, doc string
	form      valueForm
}

// Flag returns the name of the key's flag, "" for a key without one.
func (k *FileKey) Flag() string {
	if k.doc != "" {
		return ""
	}
	return strings.ReplaceAll(k.Name, "_", "-")
}

// File is a job file that was read. It is applied to the flags of submit, where what the
// command line says stays.
type File struct {
	Path    string
	Command []string
	Script  string
	Env     []string // KEY=value or KEY, in the order of the file
	values  []fileValue
}

// fileValue is the value of a flag.
type fileValue struct {
	flag string
	text string
	line int
}

// ReadFile reads a job file, or with the path - the input.
func ReadFile(path string, input io.Reader) (*File, error) {
	name, text, err := readText(path, input, MaxJobFile)
	f := &File{Path: name}
	switch _, unread := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, files.ErrTooLong):
		return nil, fmt.Errorf("--file %s has more than %d bytes, the limit of a job file", f.Path, MaxJobFile)
	case unread:
		return nil, fmt.Errorf("--file: %w; name a job file, or - for standard input", err)
	case err != nil:
		return nil, fmt.Errorf("--file %s: %w", f.Path, err)
	}
	return f, f.parse(text)
}

func (f *File) parse(text []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" ")) // JSON may be indented by tabs, YAML may not; strings of JSON hold none
	}
	var document yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return fmt.Errorf("%s says nothing; write at least a command (docs/jobs.md)", f.Path)
	} else if err != nil {
		return fmt.Errorf("%s is neither YAML nor JSON: %w", f.Path, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s holds more than one document; write one job in a file", f.Path)
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return f.fault(top, "a job is written as keys with values, such as name: nightly")
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if before := seen[key.Value]; before > 0 {
			return f.fault(key, "the key %q is there already, in line %d", key.Value, before)
		}
		seen[key.Value] = key.Line
		if err := f.add(key, value); err != nil {
			return err
		}
	}
	switch {
	case seen["command"] > 0 && seen["script"] > 0:
		return fmt.Errorf("%s has a command and a script; leave one out", f.Path)
	case seen["arguments"] > 0 && seen["script"] == 0:
		return fmt.Errorf("%s, line %d: arguments are those of a script, and there is none; write them into command", f.Path, seen["arguments"])
	}
	return nil
}

func (f *File) fault(at *yaml.Node, what string, args ...any) error {
	return fmt.Errorf("%s, line %d: %s", f.Path, at.Line, fmt.Sprintf(what, args...))
}

// add takes one key with its value.
func (f *File) add(key, value *yaml.Node) error {
	if key.Tag == mergeKey {
		return f.fault(key, noMerge)
	}
	at := slices.IndexFunc(FileKeys, func(k FileKey) bool { return k.Name == key.Value })
	if at < 0 {
		return f.unknown(key)
	}
	k := &FileKeys[at]
	values, err := f.texts(k, key, value)
	if err != nil {
		return err
	}
	for i, v := range values {
		switch k.Name {
		case "command", "arguments":
			f.Command = append(f.Command, v.text)
		case "script":
			switch f.Script = v.text; {
			case !strings.HasPrefix(f.Script, "#!"):
				return f.fault(value, "the first line of the script does not name its interpreter; begin it with #!/bin/sh or the like")
			case endsInReturn([]byte(f.Script)):
				return f.fault(value, "the first line of the script ends in a carriage return, and no node has an interpreter of such a name; end its lines with \\n alone")
			}
		case "env":
			f.Env = append(f.Env, v.text)
		default:
			values[i].flag = k.Flag()
			f.values = append(f.values, values[i])
		}
	}
	return nil
}

// mergeKey is the tag of the key <<, whose value YAML 1.1 merges into the map around it.
const mergeKey, noMerge = "!!merge", "merge keys (<<) are not read; write the keys of the other map themselves"

// unknown names the nearest key.
func (f *File) unknown(key *yaml.Node) error {
	names := make([]string, len(FileKeys))
	for i := range FileKeys {
		names[i] = FileKeys[i].Name
	}
	if meant := nearest.Close(strings.ReplaceAll(key.Value, "-", "_"), names); meant != "" {
		return f.fault(key, "a job has no key %q; the nearest is %q", key.Value, meant)
	}
	return f.fault(key, "a job has no key %q; it has %s", key.Value, strings.Join(names, ", "))
}

// texts returns the texts of a value: one, those of a list, or KEY=value of a map.
func (f *File) texts(k *FileKey, key, value *yaml.Node) (list []fileValue, err error) {
	value = resolved(value)
	one := func(n *yaml.Node, what string) error {
		n = resolved(n)
		if is := notText(n); is != "" {
			return f.fault(n, "%s is %s; write a text or a number", what, is)
		}
		list = append(list, fileValue{text: n.Value, line: n.Line})
		return nil
	}
	switch {
	case k.form == valueMap && value.Kind == yaml.MappingNode:
		lines := map[string]int{}
		for i := 0; i+1 < len(value.Content) && err == nil; i += 2 {
			name, v := value.Content[i], resolved(value.Content[i+1])
			if name.Tag == mergeKey {
				return nil, f.fault(name, "%s: %s", k.Name, noMerge)
			}
			if name.Value == "" || strings.Contains(name.Value, "=") {
				return nil, f.fault(name, "%s: %q is no name of a variable", k.Name, name.Value)
			}
			if line, twice := lines[name.Value]; twice {
				return nil, f.fault(name, "%s: %q is on line %d already; delete one of them", k.Name, name.Value, line)
			}
			lines[name.Value] = name.Line
			if v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
				list = append(list, fileValue{text: name.Value, line: name.Line})
				continue
			}
			if err = one(v, k.Name+": "+name.Value); err == nil {
				list[len(list)-1].text = name.Value + "=" + v.Value
			}
		}
	case k.form == valueMap:
		err = f.fault(key, "%s: write a map of names and values", k.Name)
	case k.form == valueList && value.Kind == yaml.SequenceNode:
		for i, n := range value.Content {
			if err = one(n, fmt.Sprintf("%s: entry %d", k.Name, i+1)); err != nil {
				break
			}
		}
	case k.form == valueList:
		err = f.fault(key, "%s: write a list, such as %s: [%s]", k.Name, k.Name, example(k, value))
	default:
		err = one(value, k.Name)
	}
	return list, err
}

// notText returns what a value is that is neither a text nor a number, "" for these.
func notText(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Tag == "!!null":
		return "null"
	}
	return ""
}

// example shows how a list would be written for a value that is none.
func example(k *FileKey, value *yaml.Node) string {
	if words := strings.Fields(value.Value); value.Kind == yaml.ScalarNode && len(words) > 0 && len(words) < 8 {
		return strings.Join(words, ", ")
	}
	return k.Name
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// alreadySet returns the flags that are set, and those whose place they take.
func alreadySet(fs *pflag.FlagSet) map[string]bool {
	set := map[string]bool{}
	fs.Visit(func(f *pflag.Flag) { set[f.Name] = true })
	set["tasks"], set["array"] = set["tasks"] || set["array"], set["tasks"] || set["array"]
	return set
}

// Apply sets the flags that were not set before; a program on the command line takes the place of
// sleeping, too.
func (f *File) Apply(fs *pflag.FlagSet, hasProgram bool) error {
	before := alreadySet(fs)
	before["sleep"] = before["sleep"] || hasProgram
	for _, v := range f.values {
		if before[v.flag] {
			continue
		}
		if err := fs.Set(v.flag, v.text); err != nil {
			if e, invalid := errors.AsType[*pflag.InvalidValueError](err); invalid {
				err = cmp.Or(cli.ClearerFault(e), e.Unwrap())
			}
			return fmt.Errorf("%s, line %d: %s %q: %w", f.Path, v.line, strings.ReplaceAll(v.flag, "-", "_"), v.text, err)
		}
	}
	return nil
}

// Program returns the script of the file, nil for none, and the command line.
func (f *File) Program() (script []byte, argv []string) {
	if f.Script == "" {
		return nil, f.Command
	}
	return []byte(f.Script), append([]string{scriptOfFile}, f.Command...)
}

// scriptOfFile is the name of a script that is written in a job file.
const scriptOfFile = "script"

// CheckScript bounds a script.
func CheckScript(name string, text []byte) error {
	if len(text) > api.MaxScript {
		return fmt.Errorf("the script %s has more than %d bytes, the limit of one that is sent with its job; put it on the nodes and run it with -- %s", name, api.MaxScript, name)
	}
	return nil
}
