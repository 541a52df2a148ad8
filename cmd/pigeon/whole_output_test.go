package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// wholeBytes is a task's output of several pieces, above what was kept before.
const wholeBytes = 3_000_001

// The output of a program is copied whole; where its node does not keep all of it, run fails
// with what is missing, and logs shows where.
func TestWholeOutput(t *testing.T) {
	t.Parallel()
	m := spawn(t, "master", "--listen", "127.0.0.1:0", "--http", "")
	node := func(id, limit string) {
		spawn(t, "nodemonitor", "--id", id, "--work-dir", t.TempDir(), "--master", m.line.Addresses["daemons"], "--slots", "1", "--output-limit", limit, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "")
	}
	node("roomy", "1000000000")
	f := spawn(t, "frontend", "--masters", m.line.Addresses["daemons"], "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "")
	at := []string{"--frontend", f.line.Addresses["applications"]}
	pigeon := func(verb string, args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = run(t.Context(), append(append([]string{verb}, at...), args...), strings.NewReader(""), &o, &e)
		return code, o.String(), e.String()
	}
	write := fmt.Sprintf("yes 0123456 | head -c %d; ", wholeBytes)
	want := strings.Repeat("0123456\n", wholeBytes/8+1)[:wholeBytes]

	code, out, errs := pigeon("run", "--", "sh", "-c", write)
	if code != cli.ExitDone || out != want || withoutWaiting(errs) != "" {
		t.Errorf("status %d, %d bytes, %s", code, len(out), errs)
	}

	// The other node keeps 10,000 bytes and the last 64 KiB; it is the only one that takes tasks.
	node("tight", "10000")
	if code, _, errs := pigeon("node", "drain", "roomy"); code != cli.ExitDone {
		t.Fatalf("status %d, %s", code, errs)
	}
	code, out, errs = pigeon("run", "--key", "cut", "--", "sh", "-c", write)
	missing := wholeBytes - 10_000 - 64<<10
	if code != cli.ExitFailed || out != want[:10_000]+want[10_000+missing:] {
		t.Errorf("status %d, %d bytes", code, len(out))
	}
	for _, part := range []string{
		fmt.Sprintf("pigeon: %d bytes of the stdout of task 0 of job cut are missing from byte 10000 on: its node keeps the first 10000 bytes", missing),
		fmt.Sprintf("pigeon: job cut completed, and %d bytes of its output are missing", missing),
	} {
		if !strings.Contains(errs, part) {
			t.Errorf("%q lacks %q", errs, part)
		}
	}
	if code, out, errs := pigeon("logs", "cut"); code != cli.ExitDone || len(out) != 10_000+64<<10 || !strings.Contains(errs, "are missing from byte 10000 on") {
		t.Errorf("logs: status %d, %d bytes, %s", code, len(out), errs)
	}
	if code, out, errs := pigeon("logs", "cut", "-o", "json"); code != cli.ExitDone || errs != "" || !strings.Contains(out, fmt.Sprintf(`"offset":10000,"data":"","missing":%d,"why":"its node keeps`, missing)) {
		t.Errorf("logs -o json: status %d, %.300s, %s", code, out, errs)
	}
	// The status of a program that fails is its own.
	if code, _, errs := pigeon("run", "--", "sh", "-c", write+"exit 3"); code != 3 || !strings.Contains(errs, "are missing from byte") {
		t.Errorf("status %d, %s", code, errs)
	}
}
