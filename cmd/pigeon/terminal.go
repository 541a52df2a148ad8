package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// terminal is where a verb prints to people.
type terminal struct {
	width, height int // in columns and lines; 0: no limit, since it is no terminal
	colours       bool
}

// terminalOf returns what out can show: a file or pipe takes lines of any length, and no colours.
func terminalOf(out io.Writer) terminal {
	f, ok := out.(*os.File)
	if !ok {
		return terminal{}
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ) //nolint:gosec // a descriptor is small
	if err != nil {
		return terminal{}
	}
	return terminal{
		width: cmp.Or(int(size.Col), 80), height: cmp.Or(int(size.Row), 24),
		colours: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// The colours, as terminals number them.
const (
	plain  = 0
	red    = 31
	green  = 32
	yellow = 33
	cyan   = 36
)

// paint returns the text in a colour, where the terminal shows colours.
func (t terminal) paint(text string, colour int) string {
	if !t.colours || colour == plain {
		return text
	}
	codes := map[int]string{red: "\x1b[31m", green: "\x1b[32m", yellow: "\x1b[33m", cyan: "\x1b[36m"}
	return codes[colour] + text + "\x1b[0m"
}

// printable returns a text of others without what a terminal would obey.
func printable(text string) string { return withoutCommands(text, "") }

// printableLines is printable for a text of several lines, or of cells between tabs.
func printableLines(text string) string { return withoutCommands(text, "\n\t") }

// printTo prints a text for people that may quote others, such as an error or a reason that a daemon
// sent.
func printTo(out io.Writer, format string, args ...any) error {
	_, err := fmt.Fprint(out, printableLines(fmt.Sprintf(format, args...)))
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
