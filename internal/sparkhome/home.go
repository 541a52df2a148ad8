package sparkhome

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Home is an installation of Spark.
type Home struct {
	Dir     string // absolute
	Version string // "4.1.4"
	Scala   string // binary version, "2.13"
	Python  string // the interpreter whose site-packages contain it, "" for none
}

// String returns a text for people: "Spark 4.1.4 (Scala 2.13) in /opt/spark".
func (h Home) String() string {
	return fmt.Sprintf("Spark %s (Scala %s) in %s", h.Version, h.Scala, h.Dir)
}

// Line returns "4.1" for version 4.1.4.
func (h Home) Line() string { return lineOf(h.Version) }

func lineOf(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	minor, _, _ := strings.Cut(parts[1], "-")
	return parts[0] + "." + minor
}

// Program returns the path of one of Spark's commands, such as "spark-shell".
func (h Home) Program(name string) string { return filepath.Join(h.Dir, "bin", name) }

// coreJar is the jar whose name contains the version of an installation.
var coreJar = regexp.MustCompile(`^spark-core_(\d+\.\d+)-(\d+\.\d+\.\d+.*)\.jar$`)

// Describe returns the Spark in dir. The error is an *api.Error that names what is
// missing there.
func Describe(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, noHome(dir, err.Error())
	}
	h := Home{Dir: abs}
	if _, err := os.Stat(h.Program("spark-submit")); err != nil {
		return Home{}, noHome(abs, "it has no bin/spark-submit: "+reason(err))
	}
	jars, err := os.ReadDir(filepath.Join(abs, "jars"))
	if err != nil {
		return Home{}, noHome(abs, "its folder jars cannot be read: "+reason(err))
	}
	for _, jar := range jars {
		m := coreJar.FindStringSubmatch(jar.Name())
		if m == nil {
			continue
		}
		if h.Version != "" {
			return Home{}, noHome(abs, fmt.Sprintf("its folder jars holds spark-core twice, of %s and %s", h.Version, m[2]))
		}
		h.Scala, h.Version = m[1], m[2]
	}
	if h.Version == "" {
		return Home{}, noHome(abs, "its folder jars has no spark-core_SCALA-VERSION.jar")
	}
	h.Python = pythonOf(abs)
	return h, nil
}

// reason returns the text of an error without the path, which the message names
// already.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

func noHome(dir, why string) *api.Error {
	return &api.Error{
		Problem: api.Invalid, What: "this is no installation of Spark: " + why, Subject: "folder " + dir,
		Tried: "looking for bin/spark-submit and jars/spark-core_*.jar",
		Next:  "name the folder that holds bin/ and jars/, or make one with 'pigeon spark setup DIR'",
	}
}

// pythonOf returns the interpreter of PREFIX/lib/pythonX.Y/site-packages/pyspark.
// The driver and the executors must run the same one.
func pythonOf(dir string) string {
	packages := filepath.Dir(dir)
	lib := filepath.Dir(filepath.Dir(packages))
	if base := filepath.Base(packages); base != "site-packages" && base != "dist-packages" || !strings.HasPrefix(filepath.Base(lib), "lib") {
		return ""
	}
	python := filepath.Join(filepath.Dir(lib), "bin", "python3")
	if info, err := os.Stat(python); err != nil || info.IsDir() {
		return ""
	}
	return python
}
