package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// progress is one line that is written over and over, on a terminal only.
type progress struct {
	out io.Writer // nil when it is no terminal

	mu    sync.Mutex
	drawn bool
}

func newProgress(out io.Writer) *progress {
	if !isTerminal(out) {
		out = nil
	}
	return &progress{out: out}
}

// isTerminal reports whether out is a character device. That includes the null device,
// where progress does no harm.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// linef replaces the line.
func (p *progress) linef(format string, args ...any) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "\r\x1b[K"+format, args...)
	p.drawn = true
}

// clear removes the line before other output.
func (p *progress) clear() {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}
