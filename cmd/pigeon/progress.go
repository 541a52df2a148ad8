package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress is one line about the state of a run: on a terminal it is rewritten in place,
// elsewhere a new line is printed from time to time.
type progress struct {
	out      io.Writer
	terminal bool
	every    time.Duration // between two lines where there is no terminal
	now      func() time.Time

	mu    sync.Mutex
	drawn bool      // the line is on the terminal
	last  time.Time // of a line elsewhere, or the start
}

// reportEvery is how often progress is written where there is no terminal. The demo, of a quarter
// of a minute, is shorter than that.
const reportEvery, demoReportEvery = 30 * time.Second, 5 * time.Second

func newProgress(out io.Writer) *progress {
	return &progress{out: out, terminal: isTerminal(out), every: reportEvery, now: time.Now, last: time.Now()}
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

// linef replaces the line, or adds one if it is time for it.
func (p *progress) linef(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K"+format, args...)
		p.drawn = true
		return
	}
	if now := p.now(); now.Sub(p.last) >= p.every {
		p.last = now
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// clear removes the line before other output.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}
