package workload

import (
	"errors"
	"fmt"
	"strconv"
)

// shownText bounds how much of a bad token an error repeats.
const shownText = 24

func (r *Reader) fault(t token, expected string) error {
	return &ParseError{File: r.name, Line: t.line, Column: t.column, Found: describe(t), Expected: expected}
}

func (r *Reader) badSeconds(t token, what string, err error) error {
	expected := what + ", a decimal number of seconds"
	switch {
	case errors.Is(err, ErrNegative):
		expected = what + ", 0 s or more"
	case errors.Is(err, ErrTooLarge):
		expected = what + ", at most " + strconv.Itoa(MaxSeconds) + " s"
	}
	return r.fault(t, expected)
}

// readError returns an error of the file itself with its place; a token that is too long
// for the scanner is a fault of the trace.
func (r *Reader) readError(err error) error {
	if long, ok := errors.AsType[*longToken](err); ok {
		return r.fault(long.token, fmt.Sprintf("words of at most %d characters (the limit)", long.limit))
	}
	return fmt.Errorf("cannot read trace %s: after line %d: %w; no job was run; check the file and its disk", r.name, r.scan.line-1, err)
}

func describe(t token) string {
	switch t.kind {
	case tokenEnd:
		return "the end of the file"
	case tokenLineEnd:
		return "the end of the line"
	}
	if len(t.text) > shownText {
		return strconv.Quote(string(t.text[:shownText])) + "..."
	}
	return strconv.Quote(string(t.text))
}
