package driver

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/childproc"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script starts a shell in place of a driver.
func script(t *testing.T, text string) *Driver {
	t.Helper()
	g := childproc.NewGroup()
	t.Cleanup(func() { g.Close(time.Minute) })
	d, err := Start(g, childproc.Command{Name: "driver", Argv: []string{"/bin/sh", "-c", text}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(time.Minute) })
	return d
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

const obedient = `echo '{"ready":0}'; while read -r verb n rest; do
	case $verb in sleep) echo '{"seconds":1.5}';; each) echo '{"seconds":[0.25,'$n']}';; esac
done; echo ended >&2`

func TestDriverAnswers(t *testing.T) {
	d, ctx := script(t, obedient), bounded(t)
	if err := d.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if list, err := d.Ask(ctx, "sleep 500 1"); err != nil || !slices.Equal(list, []float64{1.5}) {
		t.Errorf("one job: %v, %v", list, err)
	}
	if list, err := d.Ask(ctx, "each 3"); err != nil || !slices.Equal(list, []float64{0.25, 3}) {
		t.Errorf("a list: %v, %v", list, err)
	}
	d.Close(time.Minute)
	if log := d.process.LogTail(); log != "ended" {
		t.Errorf("it did not end by itself with its input: %q", log)
	}
}

// TestDriverThatIsNotOurs: it is killed, and the error quotes it.
func TestDriverThatIsNotOurs(t *testing.T) {
	d := script(t, "echo hello; cat")
	if err := d.Ready(bounded(t)); err == nil || !strings.Contains(err.Error(), "hello") || d.Err() == nil {
		t.Error(err)
	}
}

func TestDriverThatEnds(t *testing.T) {
	d := script(t, `echo '{"ready":0}'; echo why >&2; exit 3`)
	ctx := bounded(t)
	if err := d.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := d.Seconds(ctx, "each 1")
	for _, word := range []string{"ended by itself", "exit status 3", "why"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not contain %q", err, word)
		}
	}
}

func TestDriverThatIsSilent(t *testing.T) {
	d := script(t, "cat")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("it took too long"))
	if _, err := d.Ask(ctx, "each 1"); err == nil || !strings.Contains(err.Error(), "it took too long") {
		t.Errorf("it answered: %v", err)
	}
}

// Processes that the driver has started end with it.
func TestGroupEnds(t *testing.T) {
	d := script(t, `sleep 600 & echo '{"ready":0}'; echo $! >&2; cat`)
	if err := d.Ready(bounded(t)); err != nil {
		t.Fatal(err)
	}
	d.Close(time.Minute)
	pid := d.process.LogTail()
	for deadline := time.Now().Add(time.Minute); ; { // a kill takes effect soon
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s is left: %s", pid, state)
		}
	}
}
