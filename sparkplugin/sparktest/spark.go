package sparktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/documents"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
)

// Spark is an installation and the plugin for it.
type Spark struct {
	sparkhome.Home
	Jar string // of the plugin
}

// HomesVariable names the environment variable with the folder of the installations.
const HomesVariable = "PIGEON_SPARK_HOMES"

// Root returns the folder of the checkout whose test runs.
func Root() string {
	root, err := documents.Root()
	if err != nil {
		panic(err) // not a test of this module
	}
	return root
}

// Locate finds a Spark of the line ("4.1"), the newest of several. The error is an
// *api.Error and names the command that installs what is missing.
func Locate(line string) (Spark, error) {
	folder := os.Getenv(HomesVariable)
	if folder == "" {
		folder = filepath.Join(Root(), "out", "spark")
	}
	if err := sparkhome.CheckJava(sparkhome.Machine(os.Getenv)); err != nil {
		return Spark{}, err
	}
	list, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Spark{}, err
	}
	var best Spark
	for _, e := range list {
		h, err := describe(filepath.Join(folder, e.Name()))
		if err == nil && h.Line() == line && (best.Dir == "" || patch(h) > patch(best.Home)) {
			best.Home = h
		}
	}
	if best.Dir == "" {
		return Spark{}, &api.Error{
			Problem: api.NotFound, What: "there is no Spark " + line, Subject: "folder " + folder, Tried: "looking into its folders",
			Next: fmt.Sprintf("run 'make spark-wheels LINES=%s', or name the folder of yours by %s", line, HomesVariable),
		}
	}
	none := func(string) string { return "" }
	best.Jar, err = sparkhome.FindJar(best.Home, none, filepath.Join(Root(), "bin", "pigeon"))
	return best, err
}

// describe describes an unpacked distribution, or the wheel of an environment.
func describe(dir string) (sparkhome.Home, error) {
	wheels, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages", "pyspark"))
	if err == nil && len(wheels) > 0 {
		dir = wheels[0]
	}
	return sparkhome.Describe(dir)
}

// patch returns 4 for version 4.1.4, and -1 for a version without a third number.
func patch(h sparkhome.Home) int {
	n := -1
	if parts := strings.Split(h.Version, "."); len(parts) > 2 {
		if _, err := fmt.Sscanf(parts[2], "%d", &n); err != nil {
			return -1
		}
	}
	return n
}

// environment returns the environment of a driver: that of this process without the
// variables that select a Spark, Python or Pigeon, and with the given ones.
func (s Spark) environment(add ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		for _, prefix := range []string{"PIGEON_", "SPARK_", "PYSPARK_", "PYTHON", "VIRTUAL_ENV="} {
			if strings.HasPrefix(v, prefix) {
				return true
			}
		}
		return false
	})
	return append(append(env, "SPARK_HOME="+s.Dir, sparkhome.JarVariable+"="+s.Jar), add...)
}
