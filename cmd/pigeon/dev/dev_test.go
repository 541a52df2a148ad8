package dev

import (
	"bytes"
	"strings"
	"testing"
)

// TestLineWithoutNATS: what a dev prints for people names no server either.
func TestLineWithoutNATS(t *testing.T) {
	var text bytes.Buffer
	d := dev{flags: &devFlags{}, line: Line{Frontends: []string{"127.0.0.1:1"}, Metrics: "http://127.0.0.1:2/metrics"}}
	if err := d.print(&text); err != nil || strings.Contains(text.String(), "nats") || !strings.Contains(text.String(), "metrics   http") {
		t.Errorf("%v, and it prints\n%s", err, &text)
	}
}
