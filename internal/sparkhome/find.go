package sparkhome

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Places are the places that Find searches.
type Places struct {
	Getenv   func(name string) string
	LookPath func(program string) (path string, err error)

	// PySpark returns the folder of an interpreter's pyspark, "" when it has
	// none.
	PySpark func(ctx context.Context, python string) (dir string, err error)
}

// Machine returns the places of this machine, with these environment variables.
func Machine(getenv func(string) string) Places {
	return Places{Getenv: getenv, LookPath: exec.LookPath, PySpark: askPython}
}

// Find returns the user's Spark; the package comment has the order. The error is an *api.Error.
func Find(ctx context.Context, at Places) (Home, error) {
	if dir := at.Getenv("SPARK_HOME"); dir != "" {
		h, err := Describe(dir)
		if err != nil {
			return Home{}, &api.Error{
				Problem: api.Invalid, What: err.Error(), Subject: "SPARK_HOME",
				Next: "or unset SPARK_HOME, so that PATH and the Python in use are looked at",
			}
		}
		return h, nil
	}
	tried := []string{"SPARK_HOME is not set"}
	h, found, failure := at.submitInPath(ctx)
	if found {
		return h, nil
	}
	tried = append(tried, failure)
	for _, python := range at.pythons() {
		h, found, failure := at.ofPython(ctx, python)
		if found {
			return h, nil
		}
		tried = append(tried, failure)
	}
	return Home{}, &api.Error{
		Problem: api.NotFound, What: "no Spark found", Tried: "searching: " + strings.Join(tried, "; "),
		Next: "make one with 'pigeon spark setup DIR', or set SPARK_HOME to yours",
	}
}

// submitInPath finds the installation of the spark-submit in PATH. That of a wheel
// is a copy, outside of the wheel's folder.
func (at Places) submitInPath(ctx context.Context) (h Home, found bool, failure string) {
	path, err := at.LookPath("spark-submit")
	if err != nil {
		return Home{}, false, "PATH has no spark-submit"
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		if h, err := Describe(filepath.Dir(filepath.Dir(target))); err == nil {
			return h, true, ""
		}
	}
	h, found, failure = at.ofPython(ctx, filepath.Join(filepath.Dir(path), "python3"))
	return h, found, fmt.Sprintf("%s in PATH belongs to no installation, and %s", path, failure)
}

// pythons returns the interpreters that the user may mean, each once.
func (at Places) pythons() []string {
	var list []string
	if env := at.Getenv("VIRTUAL_ENV"); env != "" {
		list = append(list, filepath.Join(env, "bin", "python3"))
	}
	for _, name := range []string{"python3", "python"} {
		path, err := at.LookPath(name)
		if err != nil || len(list) > 0 && list[0] == path {
			continue
		}
		list = append(list, path)
	}
	return list
}

func (at Places) ofPython(ctx context.Context, python string) (h Home, found bool, failure string) {
	dir, err := at.PySpark(ctx, python)
	if err != nil {
		return Home{}, false, fmt.Sprintf("%s failed: %v", python, err)
	}
	if dir == "" {
		return Home{}, false, python + " has no pyspark"
	}
	if h, err = Describe(dir); err != nil {
		return Home{}, false, fmt.Sprintf("the pyspark of %s is incomplete (%v)", python, err)
	}
	return h, true, ""
}

const (
	// pythonTime bounds the run of an interpreter on a loaded machine.
	pythonTime = 30 * time.Second

	// whereIsPySpark does not import pyspark, which takes a second.
	whereIsPySpark = `import importlib.util, os
spec = importlib.util.find_spec("pyspark")
print(os.path.dirname(spec.origin) if spec and spec.origin else "")`
)

func askPython(ctx context.Context, python string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pythonTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-c", whereIsPySpark).Output()
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}
