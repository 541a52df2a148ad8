package journal

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A journal written before batches had numbers opens, is read whole, and is one of
// the present format from then on. The fixture is of a frontend of July 2026 that
// was killed twice: four jobs unfinished, some with their tasks placed.
func TestFormatOneIsReadAndReplaced(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/format1")))
	for opened := range 2 {
		j, rep, got := open(t, dir, Options{Frontend: "frontend-0"})
		must(t, j.Close())
		if want := []string{"long-1", "queued-1", "done-2", "later-1"}; !slices.Equal(got.keys(), want) || rep.Incarnation != uint64(3+opened) {
			t.Fatalf("got %v, want %v; %v", got.keys(), want, rep)
		}
		if rep.Scope != "frontend-0" {
			t.Fatalf("the ids of its jobs are of scope %q, not of its frontend's name as before", rep.Scope)
		}
		if len(got.events["long-1"]) == 0 || got.events["long-1"][0].Kind != Placed {
			t.Fatalf("the records of long-1 are %+v", got.events["long-1"])
		}
	}
	mark, err := os.ReadFile(filepath.Join(dir, formatFile))
	must(t, err)
	if !strings.HasPrefix(string(mark), "pigeon journal 2\n") {
		t.Fatalf("the folder is marked %q", mark)
	}
	must(t, os.Remove(filepath.Join(dir, witnessFile)))
	checkRefusal(t, refusal(dir, Options{}), dir, witnessFile)
}
