package applications

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// run is one application or feature that ran to its end, successfully or not.
type run struct {
	Line    string `json:"line"`    // "4.1"
	Version string `json:"version"` // "4.1.4"
	Name    string `json:"name"`
	What    string `json:"what"`
	Mode    string `json:"mode"`
	Feature bool   `json:"feature"`
	Passed  bool   `json:"passed"`
}

// in returns the same run in another mode.
func (r run) in(mode string) run {
	r.Mode = mode
	return r
}

// recordFolder returns the folder of the records of runs.
func recordFolder() string { return filepath.Join(sparktest.Root(), "out", "sparktest", "ran") }

// record stores the outcome of a test when it ends, unless it is skipped.
func record(t *testing.T, r run) {
	t.Helper()
	t.Cleanup(func() {
		if t.Skipped() {
			return
		}
		r.Passed = !t.Failed()
		text, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.MkdirAll(recordFolder(), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(recordFolder(), strings.Join([]string{r.Line, r.Name, r.Mode}, "-")+".json"), text, 0o644)
		}
		if err != nil {
			t.Errorf("what ran could not be noted: %v", err)
		}
	})
}

// runs returns all recorded runs.
func runs() (list []run, err error) {
	files, err := filepath.Glob(filepath.Join(recordFolder(), "*.json"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("nothing ran yet: %s is empty", recordFolder()))
	}
	for _, file := range files {
		var r run
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, r)
	}
	return list, nil
}
