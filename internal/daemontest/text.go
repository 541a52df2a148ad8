package daemontest

import (
	"bytes"
	"sync"
)

// Text is a log or an output that a test reads while others write to it.
type Text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer]; it never fails.
func (t *Text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

// String returns what was written so far.
func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
