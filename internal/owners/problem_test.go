package owners_test

import (
	"errors"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/owners"
)

func TestProblem(t *testing.T) {
	var p owners.Problem
	if p.Since() != 0 {
		t.Error("a problem without a text")
	}
	p.Set(errors.New("a"))
	since := p.Since()
	p.Set(errors.New("b"))
	if p.Text != "b" || p.Since() != since || since == 0 {
		t.Errorf("%+v", p)
	}
	if p.Set(nil); p.Text != "" || p.Since() != 0 {
		t.Errorf("%+v", p)
	}
}
