package spark

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sparkhome"
)

// script starts a shell in place of a driver.
func script(t *testing.T, text string) *Driver {
	t.Helper()
	c := newChildren(t.TempDir(), os.Environ())
	t.Cleanup(c.close)
	d, err := startDriver(c, "driver", []string{"/bin/sh", "-c", text})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

const obedient = `echo '{"ready":true}'; while read -r verb n rest; do
	case $verb in sleep) echo '{"seconds":1.5}';; each) echo '{"seconds":[0.25,'$n']}';; words) echo 'no answer';; esac
done; echo ended >&2`

func TestDriverAnswers(t *testing.T) {
	d, ctx := script(t, obedient), bounded(t)
	if err := d.ready(ctx); err != nil {
		t.Fatal(err)
	}
	if x, err := d.one(ctx, 500, time.Millisecond); err != nil || x != 1.5 {
		t.Errorf("one job: %v, %v", x, err)
	}
	if list, err := d.ask(ctx, "each 3"); err != nil || !slices.Equal(list, []float64{0.25, 3}) {
		t.Errorf("a list: %v, %v", list, err)
	}
	if _, err := d.ask(ctx, "words"); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("what is no answer: %v", err)
	}
	d.close()
	if log := tail(d.child.log); log != "ended" {
		t.Errorf("it did not end by itself with its input: %q", log)
	}
}

func TestDriverThatEnds(t *testing.T) {
	d := script(t, `echo '{"ready":true}'; echo why >&2; exit 3`)
	ctx := bounded(t)
	if err := d.ready(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := d.hear(ctx, "each 1")
	for _, word := range []string{"ended by itself", "exit status 3", "why"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}

func TestDriverThatIsSilent(t *testing.T) {
	d := script(t, "cat")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("it took too long"))
	if _, err := d.ask(ctx, "each 1"); err == nil || !strings.Contains(err.Error(), "it took too long") {
		t.Errorf("it answered: %v", err)
	}
}

// What the driver has started is ended with it.
func TestGroupEnds(t *testing.T) {
	d := script(t, `sleep 600 & echo '{"ready":true}'; echo $! >&2; cat`)
	if err := d.ready(bounded(t)); err != nil {
		t.Fatal(err)
	}
	d.close()
	pid := tail(d.child.log)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // a kill takes effect soon
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s is left: %s", pid, state)
		}
	}
}

func TestTogether(t *testing.T) {
	failure := errors.New("one failed")
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	if err := together(t.Context(), waits, func(context.Context) error { return failure }, waits); !errors.Is(err, failure) {
		t.Errorf("%v does not say what failed first", err)
	}
	if err := together(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=p", "SPARK_HOME=theirs", "PIGEON_FRONTEND=f", "PYSPARK_PYTHON=x", "JAVA_HOME=j"}, sparkhome.Home{Dir: "ours"}, "conf", "local")
	want := []string{"PATH=p", "JAVA_HOME=j", "SPARK_HOME=ours", "SPARK_CONF_DIR=conf", "SPARK_LOCAL_DIRS=local", "SPARK_LOCAL_IP=127.0.0.1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
