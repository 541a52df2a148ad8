package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Progress is one line about the state of a run: on a terminal it is rewritten in place,
// elsewhere a new line is printed from time to time.
type Progress struct {
	out      io.Writer
	Terminal bool
	Every    time.Duration // between two lines where there is no terminal
	now      func() time.Time

	mu    sync.Mutex
	drawn bool      // the line is on the terminal
	last  time.Time // of a line elsewhere, or the start
}

// reportEvery is how often progress is written where there is no terminal. The demo, of a quarter
// of a minute, is shorter than that.
const reportEvery = 30 * time.Second

// DemoReportEvery is the time between two lines of a demonstration, whose user waits for them.
const DemoReportEvery = 5 * time.Second

// NewProgress returns the progress of a verb that is written to out.
func NewProgress(out io.Writer) *Progress {
	return &Progress{out: out, Terminal: isTerminal(out), Every: reportEvery, now: time.Now, last: time.Now()}
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

// Linef replaces the line, or adds one if it is time for it.
func (p *Progress) Linef(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Terminal {
		fmt.Fprintf(p.out, "\r\x1b[K"+format, args...)
		p.drawn = true
		return
	}
	if now := p.now(); now.Sub(p.last) >= p.Every {
		p.last = now
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// Clear removes the line before other output.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}
