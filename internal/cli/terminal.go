package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// Terminal is where a verb prints to people.
type Terminal struct {
	Width, Height int // in columns and lines; 0: no limit, since it is no terminal
	Colours       bool
}

// TerminalOf returns what out can show: a file or pipe takes lines of any length, and no colours.
func TerminalOf(out io.Writer) Terminal {
	f, ok := out.(*os.File)
	if !ok {
		return Terminal{}
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ) //nolint:gosec // a descriptor is small
	if err != nil {
		return Terminal{}
	}
	return Terminal{
		Width: cmp.Or(int(size.Col), 80), Height: cmp.Or(int(size.Row), 24),
		Colours: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// The colours, as terminals number them.
const (
	Plain  = 0
	Red    = 31
	Green  = 32
	Yellow = 33
	Cyan   = 36
)

// Paint returns the text in a colour, where the terminal shows colours.
func (t Terminal) Paint(text string, colour int) string {
	if !t.Colours || colour == Plain {
		return text
	}
	codes := map[int]string{Red: "\x1b[31m", Green: "\x1b[32m", Yellow: "\x1b[33m", Cyan: "\x1b[36m"}
	return codes[colour] + text + "\x1b[0m"
}

// Printable returns a text of others without what a terminal would obey.
func Printable(text string) string { return withoutCommands(text, "") }

// PrintableLines is printable for a text of several lines, or of cells between tabs.
func PrintableLines(text string) string { return withoutCommands(text, "\n\t") }

// PrintTo prints a text for people that may quote others, such as an error or a reason that a daemon
// sent.
func PrintTo(out io.Writer, format string, args ...any) error {
	_, err := fmt.Fprint(out, PrintableLines(fmt.Sprintf(format, args...)))
	return err
}

// withoutCommands replaces characters that no terminal shows, except those that are kept.
func withoutCommands(text, kept string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || strings.ContainsRune(kept, r) {
			return r
		}
		return '?'
	}, text)
}
