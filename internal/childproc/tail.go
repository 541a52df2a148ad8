package childproc

import (
	"bytes"
	"os"
	"strings"
	"sync"
)

// Bounds of the output of a process that an error repeats.
const (
	tailBytes = 16 << 10
	tailLines = 15
)

// Tail is a writer that keeps the end of what is written to it. It may be read at any
// time.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if surplus := len(t.kept) - tailBytes; surplus > 0 {
		t.kept = append(t.kept[:0], t.kept[surplus:]...)
	}
	return len(p), nil
}

// String returns the last lines; the first of them may be cut.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lastLines(t.kept)
}

// fileTail returns the last lines of a file, or why it cannot be read.
func fileTail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return lastLines(text[max(0, len(text)-tailBytes):])
}

func lastLines(text []byte) string {
	lines := strings.Split(string(bytes.TrimSpace(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
