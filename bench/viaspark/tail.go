package viaspark

import (
	"bytes"
	"strings"
	"sync"
)

const (
	tailBytes = 16 << 10
	tailLines = 15
)

// tail keeps the end of what is written to it. It may be read at any time.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func newTail() *tail { return &tail{} }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if surplus := len(t.kept) - tailBytes; surplus > 0 {
		t.kept = append(t.kept[:0], t.kept[surplus:]...)
	}
	return len(p), nil
}

// String returns the last lines, the first of which may be cut.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(bytes.TrimSpace(t.kept))
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
