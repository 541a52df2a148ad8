package spark

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sparkhome"
)

func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=p", "SPARK_HOME=theirs", "PIGEON_FRONTEND=f", "PYSPARK_PYTHON=x", "JAVA_HOME=j"}, sparkhome.Home{Dir: "ours"}, "conf", "local")
	want := []string{"PATH=p", "JAVA_HOME=j", "SPARK_HOME=ours", "SPARK_CONF_DIR=conf", "SPARK_LOCAL_DIRS=local", "SPARK_LOCAL_IP=127.0.0.1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
