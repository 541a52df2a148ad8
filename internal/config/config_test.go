package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

// daemon is a configuration like those of the daemons, with every type.
type daemon struct {
	Listen  string        `mapstructure:"listen" doc:"Address served to applications, host:port."`
	Workers int           `mapstructure:"workers" doc:"Slots offered."`
	Share   float64       `mapstructure:"share" doc:"Reserved share, 0..1."`
	Limit   uint64        `mapstructure:"limit" doc:"Bytes at most."`
	Peers   []string      `mapstructure:"peers" doc:"Masters, host:port each."`
	Parts   []daemonPart  `mapstructure:"parts" doc:"Parts of the whole."`
	Journal daemonJournal `mapstructure:"journal" doc:"What is owed and what was accepted."`
}

type daemonPart struct {
	Name  string        `mapstructure:"name" doc:"Of the part."`
	Size  float64       `mapstructure:"size" default:"1" doc:"Of the part."`
	Count int           `mapstructure:"count" doc:"Of them."`
	Wait  time.Duration `mapstructure:"wait" doc:"Before it."`
	On    bool          `mapstructure:"on" doc:"Whether it is there."`
}

type daemonJournal struct {
	Sync    bool          `mapstructure:"sync" doc:"Wait for the disk before answering; off loses jobs with the machine."`
	MaxWait time.Duration `mapstructure:"max_wait" doc:"Longest time a group commit gathers, Go duration."`
}

func (d daemon) Validate() error {
	if d.Share < 0 || d.Share > 1 {
		return &FieldError{Key: "share", Problem: "must be between 0 and 1"}
	}
	if d.Workers == 13 {
		return errors.New("thirteen is refused")
	}
	return nil
}

func defaultDaemon() daemon {
	return daemon{
		Listen: "127.0.0.1:20503", Workers: 4, Share: 0.1, Limit: 1 << 20, Peers: []string{"a:1", "b:2"},
		Journal: daemonJournal{Sync: true, MaxWait: time.Millisecond},
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "daemon.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func flagsOf(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("daemon", pflag.ContinueOnError)
	if err := Flags(fs, defaultDaemon()); err != nil {
		t.Fatal(err)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestPrecedence(t *testing.T) {
	path := writeFile(t, "workers: 5\nshare: 0.2\nlimit: 7\npeers: [x:9]\njournal:\n  max_wait: 2ms\n")
	cfg, origins, err := Load(defaultDaemon(), Source{
		File:    path,
		Environ: []string{"HOME=/", "PIGEON_SHARE=0.3", "PIGEON_JOURNAL_MAX_WAIT=3ms", "PIGEON_LISTEN=", "PIGEON_FRONTEND=x"},
		Flags:   flagsOf(t, "--journal-max-wait", "4ms"), KnownEnv: []string{"PIGEON_FRONTEND"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := defaultDaemon()
	want.Workers, want.Share, want.Limit, want.Peers, want.Journal.MaxWait = 5, 0.3, 7, []string{"x:9"}, 4*time.Millisecond
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got  %+v\nwant %+v", cfg, want)
	}
	for key, place := range map[string]string{
		"listen": "default", "workers": "file " + path + ":1", "peers": "file " + path + ":4",
		"share": "environment PIGEON_SHARE", "journal.max_wait": "flag --journal-max-wait", "journal.sync": "default",
	} {
		o, ok := origins.Get(key)
		if !ok || o.Place() != place {
			t.Errorf("%s comes from %q, want %q", key, o.Place(), place)
		}
	}
	if o, _ := origins.Get("journal.max_wait"); o.Value != 0.004 || o.Text != "4ms" {
		t.Errorf("a duration is shown in seconds and as text, got %v and %q", o.Value, o.Text)
	}
}

// A list in a file may stand for its elements, where the key joins them.
func TestJoinedLists(t *testing.T) {
	type settings struct {
		One  string   `mapstructure:"one" join:"/" doc:"One."`
		Many []string `mapstructure:"many" join:"/" doc:"Many."`
	}
	for file, want := range map[string]settings{
		"one: a\nmany: [b]":                   {"a", []string{"b"}},
		"one: [a, b]\nmany: [[c, d], e/f, g]": {"a/b", []string{"c/d", "e/f", "g"}},
	} {
		cfg, _, err := Load(settings{}, Source{File: writeFile(t, file)})
		if err != nil || !reflect.DeepEqual(cfg, want) {
			t.Errorf("%q: %+v, %v", file, cfg, err)
		}
	}
	for _, file := range []string{"one: []", "one: [[a]]", "many: [[]]", "many: [[1]]", "many: a", "one: {a: b}"} {
		if cfg, _, err := Load(settings{}, Source{File: writeFile(t, file)}); err == nil {
			t.Errorf("%q is %+v", file, cfg)
		}
	}
}

func TestFlagForms(t *testing.T) {
	cfg, _, err := Load(defaultDaemon(), Source{Flags: flagsOf(t, "--peers", "x,y", "--peers", "z", "--journal-sync=false", "--workers=0x10")})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(cfg.Peers, []string{"x", "y", "z"}) || cfg.Journal.Sync || cfg.Workers != 16 {
		t.Errorf("got %+v", cfg)
	}
	cfg, _, err = Load(daemon{}, Source{Flags: flagsOf(t, "--journal-sync", "--peers=")})
	if err != nil || !cfg.Journal.Sync || cfg.Peers != nil {
		t.Errorf("got %+v, %v", cfg, err)
	}
	if usage := flagsOf(t).FlagUsages(); !strings.Contains(usage, "--journal-max-wait duration") || !strings.Contains(usage, "(default 1ms)") {
		t.Errorf("usage lacks type or default:\n%s", usage)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, file, env, flag string
		want                  []string
	}{
		{name: "unknown key", file: "listn: x", want: []string{"line 1", `"listn"`, `"listen"`}},
		{name: "unknown nested key", file: "journal:\n  snyc: true", want: []string{"line 2", `"journal.snyc"`, `"journal.sync"`}},
		{name: "right key, wrong section", file: "max_wait: 1s", want: []string{`"journal.max_wait"`}},
		{name: "capital letter", file: "Listen: x", want: []string{`"Listen"`, `"listen"`}},
		{name: "all mistakes at once", file: "a: 1\nb: 2", want: []string{`"a"`, `"b"`}},
		{name: "text for number", file: "workers: many", want: []string{`"workers"`, `"many"`, "whole number", "line 1"}},
		{name: "quoted number", file: `workers: "5"`, want: []string{"whole number", "got text"}},
		{name: "fraction for number", file: "workers: 1.5", want: []string{"whole number"}},
		{name: "too large", file: "workers: 99999999999999999999", want: []string{`"workers"`}},
		{name: "negative size", file: "limit: -1", want: []string{"0 or more"}},
		{name: "not finite", file: "share: .nan", want: []string{"finite"}},
		{name: "duration without unit", file: "journal: {max_wait: 5}", want: []string{`"journal.max_wait"`, `"5"`, "unit"}},
		{name: "duration with unknown unit", file: "journal: {max_wait: 5 days}", want: []string{"unit"}},
		{name: "yes is no bool", file: "journal: {sync: yes}", want: []string{"true or false"}},
		{name: "number for text", file: "listen: 5", want: []string{"expected text"}},
		{name: "text for list", file: "peers: a", want: []string{"list of strings"}},
		{name: "number in list", file: "peers: [a, 5]", want: []string{"whole number among them"}},
		{name: "section for value", file: "listen: {a: b}", want: []string{"a section"}},
		{name: "value for section", file: "journal: 5", want: []string{`section "journal"`}},
		{name: "unknown key of an entry", file: "parts:\n  - {name: a}\n  - {name: b, sise: 2}", want: []string{"line 3", "parts[2]", `"sise"`, `"size"`}},
		{name: "capital letter in an entry", file: "parts: [{Name: a}]", want: []string{`"Name"`, `"name"`}},
		{name: "key of an entry twice", file: "parts: [{name: a, name: b}]", want: []string{"parts[1]", "twice"}},
		{name: "entry that is text", file: "parts: [a]", want: []string{"parts[1]", "text"}},
		{name: "entries that are a section", file: "parts: {a: {size: 1}}", want: []string{"list of entries", "name, size", "a section"}},
		{name: "text for a number of an entry", file: "parts: [{size: much}]", want: []string{"parts[1]", `"size"`, `"much"`, "finite"}},
		{name: "number of an entry is not finite", file: "parts: [{size: .inf}]", want: []string{"parts[1]", `".inf"`, "finite"}},
		{name: "list in an entry", file: "parts: [{size: [1]}]", want: []string{"parts[1]", "a list"}},
		{name: "alias cycle in entries", file: "parts: &a [*a]", want: []string{"parts[1]", "alias"}},
		{name: "alias cycle in an entry", file: "parts: [&a {name: *a}]", want: []string{"parts[1]", "alias"}},
		{name: "merged entry", file: "parts: [&a {name: x}, {<<: *a}]", want: []string{"parts[2]", "merge keys (<<) are not read"}},
		{name: "two mistakes in entries", file: "parts: [{a: 1}, {b: 2}]", want: []string{`"a"`, `"b"`}},
		{name: "entries of a flag", flag: "", env: "PIGEON_PARTS=[{name: 5}]", want: []string{"PIGEON_PARTS", "parts[1]", "a whole number"}},
		{name: "entries that are no YAML", env: "PIGEON_PARTS=[{", want: []string{"PIGEON_PARTS", "list of entries"}},
		{name: "alias", file: "listen: &a x\npeers: *a", want: []string{"alias"}},
		{name: "twice", file: "listen: x\nlisten: y", want: []string{"line 2", "line 1"}},
		{name: "list at top", file: "- a", want: []string{"top level"}},
		{name: "two documents", file: "listen: x\n---\nlisten: y", want: []string{"one document"}},
		{name: "no YAML", file: "listen: [", want: []string{"not YAML", "daemon.yaml"}},
		{name: "too long", file: "# " + strings.Repeat("x", maxFile), want: []string{"1048576"}},
		{name: "misspelt variable", env: "PIGEON_LISTN=x", want: []string{"PIGEON_LISTN", "PIGEON_LISTEN"}},
		{name: "variable near a known one", env: "PIGEON_FRONTENT=x", want: []string{"PIGEON_FRONTEND"}},
		{name: "wrong variable", env: "PIGEON_WORKERS=many", want: []string{"PIGEON_WORKERS", `"many"`, "whole number"}},
		{name: "refused by Validate, file", file: "share: 2", want: []string{`"share"`, `"2"`, "daemon.yaml:1", "between 0 and 1"}},
		{name: "refused by Validate, variable", env: "PIGEON_SHARE=-1", want: []string{"environment PIGEON_SHARE"}},
		{name: "refused by Validate, flag", flag: "--share=3", want: []string{"flag --share"}},
		{name: "refused without a key", flag: "--workers=13", want: []string{"thirteen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := Source{KnownEnv: []string{"PIGEON_FRONTEND"}}
			if c.file != "" {
				src.File = writeFile(t, c.file)
			}
			if c.env != "" {
				src.Environ = []string{c.env}
			}
			if c.flag != "" {
				src.Flags = flagsOf(t, c.flag)
			}
			_, _, err := Load(defaultDaemon(), src)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error lacks %q: %v", w, err)
				}
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	_, _, err := Load(defaultDaemon(), Source{File: filepath.Join(t.TempDir(), "absent.yaml")})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestEmptyFiles(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "journal:\n  # sync: false\n"} {
		cfg, _, err := Load(defaultDaemon(), Source{File: writeFile(t, text)})
		if err != nil || !reflect.DeepEqual(cfg, defaultDaemon()) {
			t.Errorf("%q: %+v, %v", text, cfg, err)
		}
	}
}

func TestWrongFlag(t *testing.T) {
	fs := pflag.NewFlagSet("daemon", pflag.ContinueOnError)
	if err := Flags(fs, defaultDaemon()); err != nil {
		t.Fatal(err)
	}
	if err := fs.Parse([]string{"--journal-max-wait", "5"}); err == nil || !strings.Contains(err.Error(), "unit") {
		t.Errorf("got %v", err)
	}
	if err := Flags(fs, defaultDaemon()); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("defining a flag twice returned %v", err)
	}
}

func TestStructsThatAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"no doc": keysError(struct {
			A string `mapstructure:"a"`
		}{}),
		"no key": keysError(struct {
			A string `doc:"x"`
		}{}),
		"upper case": keysError(struct {
			A string `mapstructure:"A" doc:"x"`
		}{}),
		"type": keysError(struct {
			A map[string]string `mapstructure:"a" doc:"x"`
		}{}),
		"entry": keysError(struct {
			A []struct {
				B []string `mapstructure:"b" doc:"x"`
			} `mapstructure:"a" doc:"x"`
		}{}),
		"default of an entry": keysError(struct {
			A []struct {
				B int `mapstructure:"b" default:"x" doc:"x"`
			} `mapstructure:"a" doc:"x"`
		}{}),
		"clash": keysError(struct {
			A string `mapstructure:"a_b" doc:"x"`
			B struct {
				C string `mapstructure:"b" doc:"x"`
			} `mapstructure:"a" doc:"x"`
		}{}),
		"no struct": keysError(5),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func keysError[T any](v T) error { _, err := Keys(v); return err }

// TestWriteLoad: Load reads back what Write writes, with the same values, each from
// the file.
func TestWriteLoad(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab:#'\"\\ \t\n-{}[],*&é∞")))
		want := daemon{
			Listen: text.Draw(t, "listen"), Workers: rapid.IntRange(14, 1<<40).Draw(t, "workers"),
			Share: rapid.Float64Range(0, 1).Draw(t, "share"), Limit: rapid.Uint64().Draw(t, "limit"),
			Peers:   rapid.SliceOfN(text, 1, 3).Draw(t, "peers"),
			Parts:   drawParts(t, text),
			Journal: daemonJournal{rapid.Bool().Draw(t, "sync"), time.Duration(rapid.Int64().Draw(t, "wait"))},
		}
		var b bytes.Buffer
		if err := Write(&b, "A daemon.", want, defaultDaemon()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "daemon.yaml")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		got, origins, err := Load(defaultDaemon(), Source{File: path})
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v\n%s", got, want, b.String())
		}
		for _, o := range origins {
			if o.From != "file" {
				t.Fatalf("%s comes from %s", o.Key, o.From)
			}
		}
	})
}

// TestTextRoundTrip: a value shown as text is read back as itself, so what
// "config show" prints can be given as a flag.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab,\"\\ '\n")))
		want := daemon{Peers: rapid.SliceOfN(text, 1, 3).Draw(t, "peers"), Journal: daemonJournal{MaxWait: time.Duration(rapid.Int64().Draw(t, "wait"))}}
		s, err := schemaOf(reflect.TypeOf(want))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"peers", "journal.max_wait"} {
			k, _ := s.find(path)
			field := reflect.ValueOf(want).FieldByIndex(k.index)
			got, err := k.parse(k.textOf(field, false))
			if err != nil || !reflect.DeepEqual(got, field.Interface()) {
				t.Fatalf("%s: %v, %v, want %v", path, got, err, field.Interface())
			}
		}
	})
}

func drawParts(t *rapid.T, text *rapid.Generator[string]) []daemonPart {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) daemonPart {
		return daemonPart{text.Draw(t, "name"), rapid.Float64Range(-9, 9).Draw(t, "size"), rapid.Int().Draw(t, "count"), time.Duration(rapid.Int64().Draw(t, "before")), rapid.Bool().Draw(t, "on")}
	}), 1, 3).Draw(t, "parts")
}

// TestEntries: each form of a list of entries is the same list, keys that are left out have
// their defaults, and a list replaces the one before.
func TestEntries(t *testing.T) {
	want := []daemonPart{{Name: "A/b", Size: 2.5}, {Name: "c", Size: 1, Count: 3, Wait: time.Second, On: true}}
	text := `[{name: A/b, size: 2.5}, {name: c, count: 3, wait: 1s, on: true}]`
	for form, src := range map[string]Source{
		"block":       {File: writeFile(t, "parts:\n  - name: A/b\n    size: 2.5\n  - name: c\n    count: 3\n    wait: 1s\n    on: true\n")},
		"flow":        {File: writeFile(t, "parts: "+text)},
		"environment": {Environ: []string{"PIGEON_PARTS=" + text}, File: writeFile(t, "parts: [{name: x}, {name: y}, {name: z}]")},
		"flag":        {Flags: flagsOf(t, "--parts", text)},
	} {
		cfg, origins, err := Load(defaultDaemon(), src)
		if err != nil || !reflect.DeepEqual(cfg.Parts, want) {
			t.Errorf("%s: %+v, %v", form, cfg.Parts, err)
		}
		if o, _ := origins.Get("parts"); o.Text != `[{name: "A/b", size: 2.5}, {name: "c", count: 3, wait: 1s, on: true}]` {
			t.Errorf("%s is shown as %s", form, o.Text)
		}
	}
	for form, src := range map[string]Source{"empty": {File: writeFile(t, "parts: []")}, "commented out": {File: writeFile(t, "parts:\n#  - name: a\n")}, "flag": {Flags: flagsOf(t, "--parts=")}} {
		if cfg, _, err := Load(defaultDaemon(), src); err != nil || len(cfg.Parts) != 0 {
			t.Errorf("%s: %+v, %v", form, cfg.Parts, err)
		}
	}
}

func TestWriteLayout(t *testing.T) {
	values := defaultDaemon()
	values.Workers = 120
	var b bytes.Buffer
	if err := Write(&b, "Settings of a daemon.", values, defaultDaemon()); err != nil {
		t.Fatal(err)
	}
	want := `# Settings of a daemon.
# A flag overrides the environment, which overrides this file: key a.b_c is flag --a-b-c and
# variable PIGEON_A_B_C.

# Address served to applications, host:port.
listen: "127.0.0.1:20503"

# Slots offered. (default 4)
workers: 120

# Reserved share, 0..1.
share: 0.1

# Bytes at most.
limit: 1048576

# Masters, host:port each.
peers: ["a:1", "b:2"]

# Parts of the whole.
parts: []

# What is owed and what was accepted.
journal:

  # Wait for the disk before answering; off loses jobs with the machine.
  sync: true

  # Longest time a group commit gathers, Go duration.
  max_wait: 1ms
`
	if b.String() != want {
		t.Errorf("got:\n%s", b.String())
	}
}

// FuzzFile: whatever a file contains, it is refused or every value has its key's
// type.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"workers: 5", "journal: {sync: true, max_wait: 1s}", "peers: [a, b]", "a: &x [*x]", "? {a: b}\n: c", "!!binary x: 1", "share: .inf", "listen: >\n  a\n"} {
		f.Add([]byte(seed))
	}
	s, err := schemaOf(reflect.TypeFor[daemon]())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := decodeFile(&Source{File: "fuzz.yaml"}, data, s)
		if err != nil {
			return
		}
		cfg := defaultDaemon()
		if err := merge(&cfg, s, values, nil, nil); err != nil {
			t.Errorf("a file that was accepted does not decode: %v", err)
		}
	})
}

// TestCommonKeys: a file has the common keys and those that differ from their defaults, and the help the flags of
// the common ones; every flag works.
func TestCommonKeys(t *testing.T) {
	type settings struct {
		Listen string `mapstructure:"listen" common:"yes" doc:"Where it listens."`
		Limit  int    `mapstructure:"limit" doc:"A limit."`
		Bytes  int    `mapstructure:"bytes" doc:"Another."`
	}
	defaults := settings{"a:1", 1, 2}
	var text strings.Builder
	left, err := WriteCommon(&text, "Settings.", settings{"a:1", 1, 3}, defaults)
	if err != nil || left != 1 || !strings.Contains(text.String(), "listen: ") || !strings.Contains(text.String(), "bytes: 3") || strings.Contains(text.String(), "limit: ") {
		t.Errorf("%d keys are left out, %v\n%s", left, err, &text)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	if err := errors.Join(Flags(fs, defaults), fs.Parse([]string{"--limit", "7"})); err != nil {
		t.Fatal(err)
	}
	if fs.Lookup("listen").Hidden || !fs.Lookup("limit").Hidden {
		t.Error("the help shows the wrong flags")
	}
	if got, _, err := Load(defaults, Source{Flags: fs}); err != nil || got.Limit != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}
