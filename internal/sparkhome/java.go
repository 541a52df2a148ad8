package sparkhome

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// leastJava is the version that the plugin is compiled for, and that Spark 4 needs.
const leastJava = 17

// javaVersion is a line of the file "release" of an installation of Java.
var javaVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="(?:1\.)?(\d+)`)

// CheckJava refuses, with an *api.Error, a machine on which Spark would find no
// Java or one too old. A Java whose version is unknown is accepted.
func CheckJava(at Places) error {
	java, from := filepath.Join(at.Getenv("JAVA_HOME"), "bin", "java"), "JAVA_HOME"
	var err error
	if at.Getenv("JAVA_HOME") == "" {
		from = "PATH"
		java, err = at.LookPath("java")
	} else {
		_, err = os.Stat(java)
	}
	if err != nil {
		return &api.Error{
			Problem: api.NotFound, What: "Spark needs Java, and there is none", Subject: from, Tried: "looking for it: " + err.Error(),
			Next: "install one (apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one",
		}
	}
	target, err := filepath.EvalSymlinks(java)
	if err != nil {
		return nil //nolint:nilerr // Spark will try it all the same
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(target)), "release"))
	if err != nil {
		return nil //nolint:nilerr // not every Java has this file
	}
	if m := javaVersion.FindSubmatch(text); m != nil {
		if v, err := strconv.Atoi(string(m[1])); err == nil && v < leastJava {
			return &api.Error{
				Problem: api.Invalid, What: fmt.Sprintf("this is Java %d, and the plugin needs %d or later", v, leastJava), Subject: target,
				Tried: "taking the java of " + from, Next: "set JAVA_HOME to a later one (apt-get install openjdk-17-jre-headless)",
			}
		}
	}
	return nil
}
