package sparkhome

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// jars of the plugin, with the lines of Spark that each one supports, as
// sparkplugin/pom.xml builds them.
var jars = []struct {
	name, scala string
	lines       []string
}{
	{"pigeon-spark-3.5_2.12.jar", "2.12", []string{"3.5"}},
	{"pigeon-spark-4_2.13.jar", "2.13", []string{"4.0", "4.1", "4.2"}},
	{"pigeon-spark-4.3_2.13.jar", "2.13", []string{"4.3"}},
}

// JarVariable names the environment variable with a jar of the plugin, which takes
// precedence over all places.
const JarVariable = "PIGEON_SPARK_JAR"

// jarPrefix begins the name of every jar of the plugin.
const jarPrefix = "pigeon-spark-"

// IsPluginJar reports whether path, or URL, is a jar of the plugin by its name.
func IsPluginJar(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasPrefix(name, jarPrefix) && strings.HasSuffix(name, ".jar")
}

// JarName returns the name of the jar that supports h, or an *api.Error when there
// is none.
func JarName(h Home) (string, error) {
	for _, j := range jars {
		if slices.Contains(j.lines, h.Line()) && j.scala == h.Scala {
			return j.name, nil
		}
	}
	return "", &api.Error{
		Problem: api.Invalid, What: unsupported(h), Subject: h.String(),
		Tried: "choosing among " + supportedLines(),
		Next:  "use one of these, as 'pigeon spark setup DIR --version " + DefaultVersion + "' installs it, and name it by SPARK_HOME",
	}
}

func unsupported(h Home) string {
	for _, j := range jars {
		if slices.Contains(j.lines, h.Line()) {
			return fmt.Sprintf("Pigeon has no plugin for Spark %s with Scala %s, only with %s", h.Line(), h.Scala, j.scala)
		}
	}
	return "Pigeon has no plugin for Spark " + h.Line()
}

func supportedLines() string {
	var list []string
	for _, j := range jars {
		list = append(list, fmt.Sprintf("Spark %s (Scala %s)", strings.Join(j.lines, ", "), j.scala))
	}
	return strings.Join(list, " and ")
}

// lineOfJar returns the oldest line of Spark that a jar supports, after which 'make spark' names it.
func lineOfJar(name string) string {
	for _, j := range jars {
		if j.name == name {
			return j.lines[0]
		}
	}
	return ""
}

// DefaultVersion is the version of PySpark that 'pigeon spark setup' installs.
const DefaultVersion = "4.3.0"

// CheckVersion refuses, with an *api.Error, a version of PySpark that no jar of
// the plugin supports. Its wheels have the Scala of our jars.
func CheckVersion(version string) error {
	for _, j := range jars {
		if slices.Contains(j.lines, lineOf(version)) && coreJar.MatchString("spark-core_"+j.scala+"-"+version+".jar") {
			return nil
		}
	}
	return &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("version %q of PySpark is not served", version), Subject: "--version",
		Tried: "choosing among " + supportedLines(), Next: "give a whole version of these, such as " + DefaultVersion,
	}
}

// FindJar returns the jar of the plugin that supports h: the one that JarVariable
// names, else one of that name next to the program (the path of this executable),
// else in the checkout that the program was built in. The error is an *api.Error.
func FindJar(h Home, getenv func(string) string, program string) (string, error) {
	name, err := JarName(h)
	if err != nil {
		return "", err
	}
	if given := getenv(JarVariable); given != "" {
		return checkJar(given, name)
	}
	beside := filepath.Dir(program)
	places := []string{filepath.Join(beside, name), filepath.Join(filepath.Dir(beside), "sparkplugin", "dist", name)}
	for _, path := range places {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", &api.Error{
		Problem: api.NotFound, What: "the plugin's jar is missing", Subject: name + ", for " + h.String(),
		Tried: "looking for " + strings.Join(places, " and ") + "; " + JarVariable + " is not set",
		Next:  "run 'make spark SPARK_LINES=" + lineOfJar(name) + "' in a clone of Pigeon, or set " + JarVariable + " to the jar",
	}
}

// checkJar refuses a file that does not exist or whose name is for another Spark.
func checkJar(given, name string) (string, error) {
	path, err := filepath.Abs(given)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", &api.Error{
			Problem: api.NotFound, What: "the plugin's jar cannot be read: " + reason(err), Subject: given,
			Tried: "taking what " + JarVariable + " says", Next: "correct " + JarVariable + ", or unset it and run 'make spark'",
		}
	}
	for _, j := range jars {
		if j.name == filepath.Base(path) && j.name != name {
			return "", &api.Error{
				Problem: api.Invalid, What: "this jar serves another Spark", Subject: given,
				Tried: "taking what " + JarVariable + " says, where " + name + " is needed", Next: "set " + JarVariable + " to " + name + ", or unset it",
			}
		}
	}
	return path, nil
}

// HasPlugin reports whether a jar of the plugin is among Spark's own.
func (h Home) HasPlugin() bool {
	list, err := os.ReadDir(filepath.Join(h.Dir, "jars"))
	return err == nil && slices.ContainsFunc(list, func(e os.DirEntry) bool { return IsPluginJar(e.Name()) })
}
