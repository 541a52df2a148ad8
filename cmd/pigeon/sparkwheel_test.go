package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/pigeon-sched/pigeon/internal/sparkhome/sparkhometest"
)

// TestRealSpark: a real Spark is found, passed through to, and with the plugin
// answers a query on a real cluster.
func TestRealSpark(t *testing.T) {
	home := sparkhometest.Real(t)
	u := newSparkUser(t, home.Version, "")
	u.env = append(u.env, "PATH="+os.Getenv("PATH"), "JAVA_HOME="+os.Getenv("JAVA_HOME"))
	u.env.Set("SPARK_HOME", home.Dir)
	u.env.Set(sparkhome.JarVariable, os.Getenv(sparkhome.JarVariable))
	dir := t.TempDir() // Spark's own leavings
	query := []string{
		"--conf", "spark.ui.enabled=false", "--conf", "spark.sql.warehouse.dir=" + dir, "--conf", "spark.local.dir=" + dir,
		"--driver-java-options", "-Dderby.system.home=" + dir, "-e", "select 40 + 2 from range(3)",
	}
	answer := func(t *testing.T, args ...string) {
		t.Helper()
		code, out, errs := u.run(t, append(append([]string{"spark", "sql"}, args...), query...)...)
		if code != cli.ExitDone || strings.TrimSpace(out) != "42\n42\n42" {
			t.Errorf("status %d\n%s%s", code, out, errs)
		}
	}
	t.Run("version", func(t *testing.T) {
		if code, out, errs := u.run(t, "spark", "submit", "--version"); code != cli.ExitDone || !strings.Contains(out+errs, "version "+home.Version) {
			t.Errorf("status %d\n%s%s", code, out, errs)
		}
	})
	t.Run("local", func(t *testing.T) { answer(t, "--master", "local[1]") })
	t.Run("Pigeon", func(t *testing.T) {
		if os.Getenv(sparkhome.JarVariable) == "" {
			name, err := sparkhome.JarName(home)
			if err != nil {
				t.Skip(err)
			}
			jar, err := filepath.Abs(filepath.Join("..", "..", "sparkplugin", "dist", name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(jar); err != nil {
				t.Skipf("the query on a cluster is left out: there is no %s; 'make spark' builds it", jar)
			}
			u.env.Set(sparkhome.JarVariable, jar)
		}
		_, dev := runDev(t, "--nodes", "1", "--groups", "1", "--slots", "2")
		answer(t, "--frontend", dev.Frontends[0], "--executor-memory", "512m")
	})
}
