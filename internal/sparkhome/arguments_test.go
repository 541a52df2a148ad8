package sparkhome

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func parse(t *testing.T, mixed bool, args string) *Arguments {
	t.Helper()
	l, err := ParseArguments(strings.Fields(args), mixed, "--frontend", "--config")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRewrite: the command line after the master is set and a jar is added.
func TestRewrite(t *testing.T) {
	properties := map[string]string{"spark.jars": "p.jar"}
	for _, c := range []struct {
		in    string
		mixed bool
		props map[string]string
		out   string
	}{
		{"job.py --master x", false, nil, "--jars J --master M job.py --master x"},
		{"--frontend f:1 job.py --frontend g:1", false, nil, "--jars J --master M job.py --frontend g:1"},
		{"--frontend=f:1 --config c.yaml job.py", false, nil, "--jars J --master M job.py"},
		{"--master pigeon://h:1 --name n job.jar a b", false, nil, "--jars J --master M --name n job.jar a b"},
		{"--name n --master=pigeon://h:1 job.jar", false, nil, "--jars J --name n --master M job.jar"},
		{"--master a --master b job.jar", false, nil, "--jars J --master a --master M job.jar"},
		{"--jars a.jar,b.jar -v job.jar --jars c", false, nil, "--master M --jars a.jar,b.jar,J -v job.jar --jars c"},
		{"--conf spark.jars=a.jar job.jar", false, properties, "--jars a.jar,J --master M --conf spark.jars=a.jar job.jar"},
		{"-c spark.jars=a.jar --conf spark.jars=b.jar job.jar", false, nil, "--jars b.jar,J --master M -c spark.jars=a.jar --conf spark.jars=b.jar job.jar"},
		{"job.jar", false, properties, "--jars p.jar,J --master M job.jar"},
		{"--supervise --driver-memory 1g job.jar", false, nil, "--jars J --master M --supervise --driver-memory 1g job.jar"},
		// Spark itself refuses options that it does not know.
		{"--unknown x --master y", false, nil, "--jars J --master M --unknown x --master y"},
		{"--name", false, nil, "--jars J --master M --name"},
		{"", false, nil, "--jars J --master M"},

		{"-e q --master local -S --hiveconf a=b", true, nil, "--jars J -e q --master M -S --hiveconf a=b"},
		{"--database d --frontend f:1 -f file", true, nil, "--jars J --master M --database d -f file"},
		{"-I init.scala --jars=a.jar", true, nil, "--master M -I init.scala --jars a.jar,J"},
	} {
		l := parse(t, c.mixed, c.in)
		l.Set("--master", "M")
		l.AddJar("J", c.props)
		if got := strings.Join(l.Args(), " "); got != c.out {
			t.Errorf("%q gives\n  %q, want\n  %q", c.in, got, c.out)
		}
	}
}

// TestAddConf: a setting is added where the line's own counts more.
func TestAddConf(t *testing.T) {
	l := parse(t, false, "--name n --conf a=1 job.py --conf a=3")
	l.AddConf("a", "2")
	l.AddConf("b", "x=y")
	if a, _ := l.Conf("a"); a != "1" {
		t.Errorf("a is %q", a)
	}
	if got := strings.Join(l.Args(), " "); got != "--conf b=x=y --conf a=2 --name n --conf a=1 job.py --conf a=3" {
		t.Error(got)
	}
}

func TestLookups(t *testing.T) {
	l := parse(t, false, "--frontend f:1,g:2 --name a --name=b --conf k=1 -c k=2=3 -v --driver-class-path x/pigeon-spark-4_2.13.jar:y --jars j.jar job --version --name c")
	if v, given := l.Ours("--frontend"); v != "f:1,g:2" || !given {
		t.Errorf("--frontend is %q, given %t", v, given)
	}
	if v, given := l.Ours("--config"); given {
		t.Errorf("--config is %q, and was not given", v)
	}
	if v, given := l.Value("--name"); v != "b" || !given {
		t.Errorf("--name is %q, given %t; want the last one, b", v, given)
	}
	if v, given := l.Conf("k"); v != "2=3" || !given {
		t.Errorf("the setting k is %q, given %t; want 2=3", v, given)
	}
	if !l.Has("--version", "-v") || l.Has("--version") {
		t.Errorf("-v of Spark: %t; --version of the application taken for Spark's: %t", l.Has("-v"), l.Has("--version"))
	}
	if jars := l.Jars(nil); !slices.Equal(jars, []string{"j.jar", "x/pigeon-spark-4_2.13.jar", "y"}) {
		t.Errorf("jars %q", jars)
	}
	if v, given := l.Setting("", "absent", nil); given {
		t.Errorf("a setting that was never set is %q", v)
	}
}

func TestOursLacksItsValue(t *testing.T) {
	if _, err := ParseArguments([]string{"--name", "n", "--frontend"}, false, "--frontend"); err == nil || !strings.Contains(err.Error(), "--frontend") {
		t.Error(err)
	}
}

// TestUnchanged: whatever is given comes out as it was given, when there is
// nothing to change.
func TestUnchanged(t *testing.T) {
	some := rapid.SampledFrom(slices.Concat(valued, switches, []string{"--name=x", "--jars=", "--master", "-e", "x", "", "=", "--", "a=b", "--unknown"}))
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOf(some).Draw(t, "args")
		l, err := ParseArguments(args, rapid.Bool().Draw(t, "mixed"), "--frontend")
		if err != nil || !slices.Equal(l.Args(), args) {
			t.Errorf("%q becomes %q, %v", args, l.Args(), err)
		}
	})
}

func TestMasters(t *testing.T) {
	for in, want := range map[string]string{
		"pigeon://h:1,g:2":       "spark-pigeon://h:1,g:2",
		"spark-pigeon://[::1]:1": "spark-pigeon://[::1]:1",
		"local[2]":               "local[2]",
		"spark://h:1":            "spark://h:1",
		"k8s://pigeon://h":       "k8s://pigeon://h",
	} {
		got := Translate(in)
		if got != want || IsPigeon(in) != strings.HasPrefix(want, "spark-pigeon://") {
			t.Errorf("%s becomes %s, of Pigeon: %v", in, got, IsPigeon(in))
		}
	}
	master := MasterOf([]string{"h:1", "g:2"})
	if master != "spark-pigeon://h:1,g:2" || !slices.Equal(FrontendsOf(master), []string{"h:1", "g:2"}) {
		t.Error(master, FrontendsOf(master))
	}
	if got := FrontendsOf("pigeon://h:1/"); !slices.Equal(got, []string{"h:1"}) {
		t.Error(got)
	}
}

func TestParseProperties(t *testing.T) {
	const text = `
# comment = no
 ! neither
spark.master     pigeon://h:1
spark.a=1
spark.b : x y  ` + `
  spark.c = a,\
      b,\
      c
spark\:d=\\tmp\ttab
spark.e
spark.f=first
spark.f=second
spark.g==x
spark.h=\u0041
odd=end\`
	want := map[string]string{
		"spark.master": "pigeon://h:1", "spark.a": "1", "spark.b": "x y", "spark.c": "a,b,c", "spark:d": "\\tmp\ttab",
		"spark.e": "", "spark.f": "second", "spark.g": "=x", "spark.h": `\u0041`, "odd": "end",
	}
	for _, lineEnd := range []string{"\n", "\r\n", "\r"} {
		if got := parseProperties(strings.ReplaceAll(text, "\n", lineEnd)); !maps.Equal(got, want) {
			t.Errorf("%q: %q", lineEnd, got)
		}
	}
}

func TestProperties(t *testing.T) {
	conf := t.TempDir()
	other := filepath.Join(conf, "other.conf")
	for path, text := range map[string]string{filepath.Join(conf, "spark-defaults.conf"): "a 1\nb 1\n", other: "b 2\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]map[string]string{
		"job":                            {"a": "1", "b": "1"},
		"--properties-file " + other:     {"b": "2"},
		"--properties-file=absent.conf":  {},
		"job --properties-file " + other: {"a": "1", "b": "1"},
		"--load-spark-defaults --properties-file " + other: {"a": "1", "b": "2"},
	} {
		if got, err := parse(t, false, args).Properties(conf); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v", args, got, err)
		}
	}
	if err := os.WriteFile(other, make([]byte, maxProperties+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := parse(t, false, "--properties-file "+other).Properties(conf); err == nil || !strings.Contains(err.Error(), other) {
		t.Error(err)
	}
	if _, err := parse(t, false, "--properties-file "+conf).Properties(conf); err == nil {
		t.Error("a folder was read")
	}
}

// FuzzProperties: no file makes it fail or loop, and keys and values come from it.
func FuzzProperties(f *testing.F) {
	f.Add("a=b\\\n c\\")
	f.Add("\\ = \\u00")
	f.Fuzz(func(t *testing.T, text string) {
		for key, value := range parseProperties(text) {
			if len(key)+len(value) > len(text) {
				t.Errorf("%q gives %q=%q", text, key, value)
			}
		}
	})
}
