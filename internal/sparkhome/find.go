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

// Places are where Find looks.
type Places struct {
	Getenv   func(name string) string
	LookPath func(program string) (path string, err error)

	// PySpark asks an interpreter for the folder of its pyspark, "" when it has
	// none.
	PySpark func(ctx context.Context, python string) (dir string, err error)
}

// Machine is this process's environment.
func Machine(getenv func(string) string) Places {
	return Places{Getenv: getenv, LookPath: exec.LookPath, PySpark: askPython}
}

// Find returns the user's Spark; doc.go has the order. The error is an *api.Error.
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
	h, found, said := at.submitInPath(ctx)
	if found {
		return h, nil
	}
	tried = append(tried, said)
	for _, python := range at.pythons() {
		h, found, said := at.ofPython(ctx, python)
		if found {
			return h, nil
		}
		tried = append(tried, said)
	}
	return Home{}, &api.Error{
		Problem: api.NotFound, What: "no Spark found", Tried: "looking around: " + strings.Join(tried, "; "),
		Next: "make one with 'pigeon spark setup DIR', or set SPARK_HOME to yours",
	}
}

// submitInPath looks for the installation that the spark-submit in PATH belongs
// to. The one of a wheel is a copy, outside of the wheel's folder.
func (at Places) submitInPath(ctx context.Context) (h Home, found bool, said string) {
	path, err := at.LookPath("spark-submit")
	if err != nil {
		return Home{}, false, "PATH has no spark-submit"
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		if h, err := Describe(filepath.Dir(filepath.Dir(target))); err == nil {
			return h, true, ""
		}
	}
	h, found, said = at.ofPython(ctx, filepath.Join(filepath.Dir(path), "python3"))
	return h, found, fmt.Sprintf("%s in PATH lies in no installation, and %s", path, said)
}

// pythons are the interpreters that the user may mean, without repeats.
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

func (at Places) ofPython(ctx context.Context, python string) (h Home, found bool, said string) {
	dir, err := at.PySpark(ctx, python)
	if err != nil {
		return Home{}, false, fmt.Sprintf("%s could not be asked: %v", python, err)
	}
	if dir == "" {
		return Home{}, false, python + " has no pyspark"
	}
	if h, err = Describe(dir); err != nil {
		return Home{}, false, fmt.Sprintf("the pyspark of %s is not whole (%v)", python, err)
	}
	return h, true, ""
}

const (
	// pythonTime bounds the question to an interpreter on a loaded machine.
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
