package frontend_test

import (
	"errors"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// A journal that was opened more often than attempts have numbers is refused, with what
// to do.
func TestLivesAreBounded(t *testing.T) {
	if first, err := frontend.FirstAttempt("f", 214_748); err != nil || first != 2_147_470_001 {
		t.Errorf("the last life begins with %d, %v", first, err)
	}
	_, err := frontend.FirstAttempt("f", 214_749)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Subject == "" || refusal.What == "" || refusal.Tried == "" || refusal.Next == "" {
		t.Errorf("got %v", err)
	}
}
