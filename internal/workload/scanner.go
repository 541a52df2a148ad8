package workload

import (
	"bufio"
	"errors"
	"io"
)

// maxToken bounds one number of a trace; it is far above the length of any printed number.
const maxToken = 128

type tokenKind uint8

const (
	tokenText tokenKind = iota
	tokenLineEnd
	tokenEnd // of the file
)

// token is one word of a trace. text is valid until the next call of next.
type token struct {
	kind         tokenKind
	text         []byte
	line, column int
}

// maxField bounds what may follow the durations of a job: an owner of 255 bytes, all of them
// escaped.
const maxField = 3*255 + 16

// longToken reports a word beyond the limit.
type longToken struct {
	token token
	limit int
}

func (*longToken) Error() string { return "a word is too long" }

// scanner splits a trace into words and line ends. A line end is LF; any
// other ASCII white space, CR included, separates words.
type scanner struct {
	src    *bufio.Reader
	line   int // of the next byte
	column int // of the next byte
	limit  int // characters of the next word
	buf    [maxField]byte
}

// readAhead is how many bytes of a trace are read at a time.
const readAhead = 1 << 16

func newScanner(src io.Reader) scanner {
	return scanner{src: bufio.NewReaderSize(src, readAhead), line: 1, column: 1, limit: maxToken}
}

func (s *scanner) next() (token, error) {
	t, err := s.start()
	if err != nil || t.kind != tokenText {
		return t, err
	}
	for n := 0; ; n++ {
		c, err := s.src.ReadByte()
		t.text = s.buf[:n]
		if err != nil {
			return t, unlessEnd(err)
		}
		if isSpace(c) {
			return t, s.src.UnreadByte()
		}
		if n == s.limit {
			return t, &longToken{token: t, limit: s.limit}
		}
		s.buf[n] = c
		s.column++
	}
}

// start skips white space and returns what begins there.
func (s *scanner) start() (token, error) {
	for {
		c, err := s.src.ReadByte()
		at := token{line: s.line, column: s.column}
		switch {
		case err != nil:
			at.kind = tokenEnd
			return at, unlessEnd(err)
		case c == '\n':
			s.line++
			s.column = 1
			at.kind = tokenLineEnd
			return at, nil
		case !isSpace(c):
			return at, s.src.UnreadByte()
		}
		s.column++
	}
}

// unlessEnd returns nil at the end of the file, which the next call reports again.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func isSpace(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r'
}
