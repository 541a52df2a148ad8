package sparkhome

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// put writes a file, with its folders.
func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// install makes an installation with this core jar in dir.
func install(t *testing.T, dir, core string) string {
	t.Helper()
	put(t, filepath.Join(dir, "bin", "spark-submit"), "")
	put(t, filepath.Join(dir, "jars", "spark-core-notes.txt"), "")
	put(t, filepath.Join(dir, "jars", "spark-sql_2.13-9.9.9.jar"), "")
	if core != "" {
		put(t, filepath.Join(dir, "jars", core), "")
	}
	return dir
}

// refusal checks that err is of four parts and says all of want.
func refusal(t *testing.T, err error, want ...string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Problem == 0 || e.What == "" || e.Subject+e.Tried == "" || e.Next == "" {
		t.Fatalf("no refusal of four parts: %#v", err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ core, version, line, scala string }{
		{"spark-core_2.13-4.1.4.jar", "4.1.4", "4.1", "2.13"},
		{"spark-core_2.12-3.5.9.jar", "3.5.9", "3.5", "2.12"},
		{"spark-core_2.13-4.3.0-SNAPSHOT.jar", "4.3.0-SNAPSHOT", "4.3", "2.13"},
	} {
		h, err := Describe(install(t, t.TempDir(), c.core))
		if err != nil || h.Version != c.version || h.Line() != c.line || h.Scala != c.scala || h.Python != "" {
			t.Errorf("%s: %+v, line %s, %v", c.core, h, h.Line(), err)
		}
	}
}

func TestDescribeRefuses(t *testing.T) {
	whole := func(core string) string { return install(t, t.TempDir(), core) }
	twice := whole("spark-core_2.13-4.1.4.jar")
	put(t, filepath.Join(twice, "jars", "spark-core_2.13-4.1.3.jar"), "")
	noJars := t.TempDir()
	put(t, filepath.Join(noJars, "bin", "spark-submit"), "")
	for name, c := range map[string]struct{ dir, want string }{
		"absent":  {filepath.Join(t.TempDir(), "absent"), "bin/spark-submit"},
		"no jars": {noJars, "jars"},
		"no core": {whole(""), "spark-core_"},
		"twice":   {twice, "twice"},
	} {
		_, err := Describe(c.dir)
		t.Run(name, func(t *testing.T) { refusal(t, err, c.dir, c.want) })
	}
}

// TestWheelKnowsItsPython: driver and executors must run the interpreter that the
// wheel lies in.
func TestWheelKnowsItsPython(t *testing.T) {
	env := t.TempDir()
	dir := install(t, filepath.Join(env, "lib", "python3.11", "site-packages", "pyspark"), "spark-core_2.13-4.1.4.jar")
	if h, err := Describe(dir); err != nil || h.Python != "" {
		t.Errorf("without an interpreter: %+v, %v", h, err)
	}
	python := put(t, filepath.Join(env, "bin", "python3"), "")
	if h, err := Describe(dir); err != nil || h.Python != python {
		t.Errorf("%+v, %v", h, err)
	}
}

// computer is a machine of a test's making.
type computer struct {
	env, path map[string]string
	pyspark   map[string]string // interpreter -> folder
}

func (c computer) places() Places {
	return Places{
		Getenv: func(name string) string { return c.env[name] },
		LookPath: func(program string) (string, error) {
			if p := c.path[program]; p != "" {
				return p, nil
			}
			return "", exec.ErrNotFound
		},
		PySpark: func(_ context.Context, python string) (string, error) {
			if dir, ok := c.pyspark[python]; ok {
				return dir, nil
			}
			return "", errors.New("it does not start")
		},
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	own := install(t, filepath.Join(root, "own"), "spark-core_2.13-4.0.5.jar")
	tarball := install(t, filepath.Join(root, "tarball"), "spark-core_2.13-4.2.1.jar")
	wheel := install(t, filepath.Join(root, "wheel"), "spark-core_2.12-3.5.9.jar")
	link := filepath.Join(root, "bin", "spark-submit")
	put(t, filepath.Join(root, "bin", "note"), "")
	if err := os.Symlink(filepath.Join(tarball, "bin", "spark-submit"), link); err != nil {
		t.Fatal(err)
	}
	copied := put(t, filepath.Join(root, "env", "bin", "spark-submit"), "")
	beside := filepath.Join(root, "env", "bin", "python3")
	all := computer{
		env:     map[string]string{"SPARK_HOME": own, "VIRTUAL_ENV": filepath.Join(root, "env")},
		path:    map[string]string{"spark-submit": link, "python3": "/usr/bin/python3"},
		pyspark: map[string]string{beside: wheel, "/usr/bin/python3": own},
	}
	for _, c := range []struct {
		name string
		at   computer
		want string
	}{
		{"SPARK_HOME comes first", all, own},
		{"then PATH, through a link", computer{nil, all.path, all.pyspark}, tarball},
		{"the spark-submit of a wheel", computer{nil, map[string]string{"spark-submit": copied}, all.pyspark}, wheel},
		{"then the active environment", computer{map[string]string{"VIRTUAL_ENV": filepath.Join(root, "env")}, map[string]string{"python3": "/usr/bin/python3"}, all.pyspark}, wheel},
		{"then python3 in PATH", computer{nil, map[string]string{"python3": "/usr/bin/python3"}, all.pyspark}, own},
		{"then python in PATH", computer{nil, map[string]string{"python3": "/bad", "python": "/usr/bin/python3"}, all.pyspark}, own},
	} {
		if h, err := Find(t.Context(), c.at.places()); err != nil || h.Dir != c.want {
			t.Errorf("%s: %+v, %v", c.name, h, err)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	damaged := install(t, t.TempDir(), "")
	whole := install(t, t.TempDir(), "spark-core_2.13-4.1.4.jar")
	// Not another Spark than the one that was asked for.
	_, err := Find(t.Context(), computer{map[string]string{"SPARK_HOME": damaged}, map[string]string{"python3": "p"}, map[string]string{"p": whole}}.places())
	refusal(t, err, "SPARK_HOME", damaged)

	_, err = Find(t.Context(), computer{nil, map[string]string{"python3": "p", "python": "q", "spark-submit": "/absent/spark-submit"}, map[string]string{"p": "", "q": damaged}}.places())
	refusal(t, err, "no Spark found", "SPARK_HOME is not set", "/absent/spark-submit in PATH", "p has no pyspark", "the pyspark of q", "pigeon spark setup")

	_, err = Find(t.Context(), computer{}.places())
	refusal(t, err, "PATH has no spark-submit")
}

func TestJarName(t *testing.T) {
	for _, c := range []struct{ version, scala, want string }{
		{"3.5.9", "2.12", "pigeon-spark-3.5_2.12.jar"},
		{"4.0.5", "2.13", "pigeon-spark-4_2.13.jar"},
		{"4.1.4", "2.13", "pigeon-spark-4_2.13.jar"},
		{"4.2.1", "2.13", "pigeon-spark-4_2.13.jar"},
		{"4.3.0", "2.13", "pigeon-spark-4.3_2.13.jar"},
	} {
		if name, err := JarName(Home{Version: c.version, Scala: c.scala}); err != nil || name != c.want {
			t.Errorf("%s: %s, %v", c.version, name, err)
		}
	}
	for _, c := range []struct{ version, scala, want string }{
		{"4.4.0", "2.13", "Spark 4.4"},
		{"3.5.9", "2.13", "only with 2.12"},
		{"3.4.1", "2.12", "Spark 3.4"},
		{"5.0.0", "2.13", "Spark 5.0"},
		{"40.1.0", "2.13", "Spark 40.1"},
	} {
		_, err := JarName(Home{Dir: "/opt/spark", Version: c.version, Scala: c.scala})
		refusal(t, err, c.want, c.version, "/opt/spark")
	}
}

func TestFindJar(t *testing.T) {
	root := t.TempDir()
	h := Home{Dir: "/opt/spark", Version: "4.1.4", Scala: "2.13"}
	program := filepath.Join(root, "bin", "pigeon")
	variable := ""
	find := func() (string, error) {
		return FindJar(h, func(name string) string {
			if name == JarVariable {
				return variable
			}
			return ""
		}, program)
	}
	name := "pigeon-spark-4_2.13.jar"
	_, err := find()
	refusal(t, err, name, "make spark SPARK_LINES=4.0", filepath.Join(root, "sparkplugin", "dist", name), filepath.Join(root, "bin", name), "Spark 4.1.4")

	for _, want := range []string{filepath.Join(root, "sparkplugin", "dist", name), filepath.Join(root, "bin", name)} {
		put(t, want, "")
		if got, err := find(); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	variable = put(t, filepath.Join(root, "mine.jar"), "")
	if got, err := find(); err != nil || got != variable {
		t.Errorf("%s, %v", got, err)
	}
	variable = put(t, filepath.Join(root, "pigeon-spark-3.5_2.12.jar"), "")
	_, err = find()
	refusal(t, err, JarVariable, name, variable)
	variable = filepath.Join(root, "absent.jar")
	_, err = find()
	refusal(t, err, JarVariable, variable, "no such file")
}

func TestHasPlugin(t *testing.T) {
	h, err := Describe(install(t, t.TempDir(), "spark-core_2.13-4.1.4.jar"))
	if err != nil || h.HasPlugin() {
		t.Error(h.HasPlugin(), err)
	}
	put(t, filepath.Join(h.Dir, "jars", "pigeon-spark-4_2.13.jar"), "")
	if !h.HasPlugin() {
		t.Error("a plugin among Spark's jars is not seen")
	}
}

func TestCheckVersion(t *testing.T) {
	for _, v := range []string{DefaultVersion, "3.5.9", "4.0.5", "4.2.1", "4.3.0"} {
		if err := CheckVersion(v); err != nil {
			t.Error(err)
		}
	}
	for _, v := range []string{"", "4", "4.1", "4.4.0", "3.4.1", "latest", "4.x.1"} {
		refusal(t, CheckVersion(v), "--version", "Spark 3.5", DefaultVersion)
	}
}

func TestCheckJava(t *testing.T) {
	java := func(release string) string {
		home := t.TempDir()
		put(t, filepath.Join(home, "bin", "java"), "")
		if release != "" {
			put(t, filepath.Join(home, "release"), release)
		}
		return home
	}
	home := func(dir string) Places { return computer{env: map[string]string{"JAVA_HOME": dir}}.places() }
	inPath := func(dir string) Places {
		return computer{path: map[string]string{"java": filepath.Join(dir, "bin", "java")}}.places()
	}
	for _, release := range []string{"", "IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"17.0.15\"\n", "JAVA_VERSION=\"21\"\n", "nothing"} {
		if err := errors.Join(CheckJava(home(java(release))), CheckJava(inPath(java(release)))); err != nil {
			t.Errorf("%q: %v", release, err)
		}
	}
	refusal(t, CheckJava(home(java("JAVA_VERSION=\"11.0.2\"\n"))), "Java 11", "17", "JAVA_HOME")
	refusal(t, CheckJava(inPath(java("JAVA_VERSION=\"1.8.0_292\"\n"))), "Java 8", "PATH")
	refusal(t, CheckJava(home(t.TempDir())), "JAVA_HOME", "install")
	refusal(t, CheckJava(computer{}.places()), "PATH", "install")
}

// TestAskPython: the question that Find puts to a real interpreter.
func TestAskPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 in PATH; install it: apt-get install python3")
	}
	root := t.TempDir()
	t.Setenv("PYTHONPATH", root)
	// It is not imported: that would take a second, and may fail.
	put(t, filepath.Join(root, "pyspark", "__init__.py"), "raise SystemExit(3)")
	if dir, err := Machine(os.Getenv).PySpark(t.Context(), python); err != nil || dir != filepath.Join(root, "pyspark") {
		t.Errorf("%q, %v", dir, err)
	}
	if _, err := Machine(os.Getenv).PySpark(t.Context(), filepath.Join(root, "absent")); err == nil {
		t.Error("an interpreter that is not there was asked")
	}
}
