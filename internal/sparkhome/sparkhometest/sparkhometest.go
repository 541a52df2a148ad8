// Package sparkhometest makes a Spark for tests: a folder whose programs are scripts, or the real one of
// this machine.
package sparkhometest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/documents"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
)

// Fake is a folder like that of a Spark, with a Java and a jar of the plugin.
type Fake struct {
	Home, Jar string
	Environ   []string // that leads to it, and to nothing else of this machine
}

// NewFake makes one of a version, whose programs are the script.
func NewFake(t testing.TB, version, script string, programs ...string) *Fake {
	t.Helper()
	dir := t.TempDir()
	f := &Fake{Home: filepath.Join(dir, "spark"), Jar: filepath.Join(dir, "plugin.jar")}
	scala := "2.13"
	if strings.HasPrefix(version, "3.") {
		scala = "2.12"
	}
	files := map[string]string{
		f.Jar: "",
		filepath.Join(f.Home, "jars", "spark-core_"+scala+"-"+version+".jar"): "",
		filepath.Join(dir, "java", "bin", "java"):                             "",
	}
	for _, p := range programs {
		files[filepath.Join(f.Home, "bin", p)] = script
	}
	for path, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}
	f.Environ = []string{
		"PATH=/usr/bin:/bin", "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "XDG_CONFIG_HOME=" + dir,
		"SPARK_HOME=" + f.Home, "JAVA_HOME=" + filepath.Join(dir, "java"), sparkhome.JarVariable + "=" + f.Jar,
	}
	return f
}

// Wheel is the environment that 'make spark-wheel' makes, from the root of the checkout.
const Wheel = "out/spark/" + sparkhome.DefaultVersion

// Real returns the Spark of this machine, else that of 'make spark-wheel', and skips a test where there is none.
func Real(t testing.TB) sparkhome.Home {
	t.Helper()
	if testing.Short() {
		t.Skip("a real Spark takes half a minute; leave -short out")
	}
	places := sparkhome.Machine(os.Getenv)
	if err := sparkhome.CheckJava(places); err != nil {
		t.Skipf("Spark is left out: %v", err)
	}
	home, err := sparkhome.Find(t.Context(), places)
	if err == nil {
		return home
	}
	root, rootErr := documents.Root()
	if rootErr != nil {
		t.Fatal(rootErr)
	}
	places = sparkhome.Machine(func(name string) string { return map[string]string{"VIRTUAL_ENV": filepath.Join(root, Wheel)}[name] })
	places.LookPath = func(string) (string, error) { return "", exec.ErrNotFound }
	if home, inWheel := sparkhome.Find(t.Context(), places); inWheel == nil {
		return home
	}
	t.Skipf("Spark is left out: %v; 'make spark-wheel' installs one for this test", err)
	return home
}
