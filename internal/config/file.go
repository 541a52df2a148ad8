package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// maxFile bounds a configuration file; the largest that Pigeon writes has a few KiB.
const maxFile = 1 << 20

// readFile returns the values of a file. It walks the YAML tree, because viper's
// own reader knows no lines, and an error names its line.
func readFile(src *Source, s schema) (map[string]given, error) {
	if src.File == "" {
		return nil, nil
	}
	data, err := readBounded(src.File)
	if err != nil {
		return nil, err
	}
	return decodeFile(src, data, s)
}

// FileKeys returns the keys at the top level of a YAML file, none where it holds no settings.
func FileKeys(path string) (keys []string, err error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	var doc map[string]yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("configuration file %s is not YAML: %w", path, err)
	}
	for key := range doc {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

func readBounded(path string) (data []byte, err error) {
	data, err = files.ReadText(path, maxFile)
	switch _, unread := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, files.ErrTooLong):
		return nil, fmt.Errorf("configuration file %s is larger than the limit of %d bytes; check that the path is that of a configuration file", path, maxFile)
	case unread:
		return nil, fmt.Errorf("configuration file cannot be read: %w; check the path and its permissions", err)
	case err != nil:
		return nil, fmt.Errorf("configuration file %s cannot be read: %w", path, err)
	}
	return data, nil
}

func decodeFile(src *Source, data []byte, s schema) (map[string]given, error) {
	path := src.File
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) { // nothing but comments
			return nil, nil
		}
		return nil, fmt.Errorf("configuration file %s is not YAML: %w", path, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("configuration file %s: a second document follows, or text that is not YAML; keep one document per file", path)
	}
	w := walker{src: src, schema: s, out: map[string]given{}}
	w.section(doc.Content[0], "")
	return w.out, errors.Join(w.problems...)
}

// walker collects values and mistakes of one file.
type walker struct {
	src      *Source
	schema   schema
	out      map[string]given
	problems []error
}

func (w *walker) problemf(n *yaml.Node, format string, args ...any) {
	at := fmt.Sprintf("configuration file %s, line %d: ", w.src.File, n.Line)
	w.problems = append(w.problems, fmt.Errorf(at+format, args...))
}

// mergeKey is the tag of the key <<, whose value YAML 1.1 merges into the map around it.
const mergeKey = "!!merge"

func (w *walker) section(n *yaml.Node, prefix string) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // a heading whose keys are all commented out
	}
	if n.Kind != yaml.MappingNode {
		w.problemf(n, "%s: expected keys with values, got %s", orFile(prefix), kindName(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Tag == mergeKey {
			w.problemf(name, "merge keys (<<) are not read; write the keys of the other section themselves")
			continue
		}
		path := prefix + name.Value
		if line, twice := seen[path]; twice {
			w.problemf(name, "key %q is on line %d already; delete one of them", path, line)
			continue
		}
		seen[path] = name.Line
		w.entry(path, name, value)
	}
}

// hint returns what to do about a key that is unknown here.
func (w *walker) hint(key string) string {
	of := ""
	if w.src.Elsewhere != nil {
		of = w.src.Elsewhere(key)
	}
	switch {
	case of != "" && w.src.FromEnv != "":
		return fmt.Sprintf("it is one of %s, and the file is named by %s for every verb. Name the right file with --config, or unset %s", of, w.src.FromEnv, w.src.FromEnv)
	case of != "":
		return fmt.Sprintf("it is one of %s. Name the right file, or delete the key", of)
	}
	return fmt.Sprintf("the nearest known one is %q. Correct or delete it", nearestPath(key, w.schema.paths()))
}

func (w *walker) entry(path string, name, value *yaml.Node) {
	if w.schema.isSection(path) {
		w.section(value, path+".")
		return
	}
	k, ok := w.schema.find(path)
	if !ok {
		w.problemf(name, "unknown key %q; %s", path, w.hint(path))
		return
	}
	if k.Type == "entries" {
		v, problems := k.entry.read(path, value)
		for _, p := range problems {
			w.problemf(p.at, "%s", p.text)
		}
		w.out[path] = given{v, "file", fmt.Sprintf("%s:%d", w.src.File, name.Line)}
		return
	}
	v, err := scalarOrList(k, value)
	if err != nil {
		w.problemf(value, "key %q%s: %w", path, withValue(k, value), err)
		return
	}
	w.out[path] = given{v, "file", fmt.Sprintf("%s:%d", w.src.File, name.Line)}
}

// scalarOrList reads a value without any conversion between YAML types: a
// quoted "5" is no number, a bare 5 is no string.
func scalarOrList(k Key, n *yaml.Node) (any, error) {
	wrong := fmt.Errorf("expected %s, got %s", k.expected(), kindName(n))
	if k.Type == "list" {
		if n.Kind != yaml.SequenceNode {
			return nil, wrong
		}
		var items []string
		for _, item := range n.Content {
			text, ok := k.element(item)
			if !ok {
				return nil, fmt.Errorf("expected %s, got %s among them", k.expected(), kindName(item))
			}
			items = append(items, text)
		}
		return items, nil
	}
	if text, ok := k.element(n); ok && k.join != "" {
		return k.parse(text)
	}
	if n.Kind != yaml.ScalarNode || !tagFits(k.Type, n.Tag) {
		return nil, wrong
	}
	return k.parse(n.Value)
}

// element returns the text of a node, or of a list of texts where the key joins them; false
// when it is neither.
func (k Key) element(n *yaml.Node) (text string, ok bool) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, n.Tag == "!!str"
	}
	if n.Kind != yaml.SequenceNode || k.join == "" || len(n.Content) == 0 {
		return "", false
	}
	var parts []string
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Tag != "!!str" {
			return "", false
		}
		parts = append(parts, item.Value)
	}
	return strings.Join(parts, k.join), true
}

func tagFits(typ, tag string) bool {
	switch typ {
	case "bool":
		return tag == "!!bool"
	case "integer", "size":
		return tag == "!!int"
	case "number":
		return tag == "!!int" || tag == "!!float"
	}
	return tag == "!!str"
}

func orFile(prefix string) string {
	if prefix == "" {
		return "top level"
	}
	return fmt.Sprintf("section %q", prefix[:len(prefix)-1])
}

// withValue returns the refused value of a key as an error shows it.
func withValue(k Key, n *yaml.Node) string {
	if k.hide {
		return ""
	}
	return " with value " + show(n)
}

// show returns a value as an error shows it, without secrets.
func show(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return fmt.Sprintf("%.80q", withoutRefusedSecrets(n.Value))
	}
	return "(" + kindName(n) + ")"
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a section"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias (not supported; write the value)"
	}
	switch n.Tag {
	case "!!str":
		return "text"
	case "!!int":
		return "a whole number"
	case "!!float":
		return "a number"
	case "!!bool":
		return "true/false"
	case "!!null":
		return "nothing"
	}
	return "a value of type " + n.Tag
}
