package main

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/documents"
)

// TestDocumentedCommandsExist: every verb and flag that a page writes after "pigeon-bench" exists.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	if checked := documents.CheckCalls(t, newRoot()); checked < 30 {
		t.Errorf("only %d calls found", checked)
	}
}
