package cluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A process that may open no more files reports that, and not that a disk is at fault.
func TestNotStarted(t *testing.T) {
	s := &Spec{Frontends: 2, Groups: []int{3, 4}}
	met := fmt.Errorf("journal x: %w; check the disk", &os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE})
	err := s.notStarted(met)
	if !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "11 daemons need about 265; allow more with 'ulimit -n 265'") {
		t.Errorf("%v", err)
	}
	if err := s.notStarted(errors.New("no room")); strings.Contains(err.Error(), "ulimit") || !strings.HasSuffix(err.Error(), "no room") {
		t.Errorf("%v", err)
	}
}
