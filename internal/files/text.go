package files

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// Why a text is not read.
var (
	ErrTooLong = errors.New("it is longer than its limit")
	errUTF16   = errors.New("it is written in UTF-16, as editors of Windows call Unicode; save it as UTF-8")
)

// ReadText reads a file that people write with an editor, of most bytes at most. What it returns
// with [ErrTooLong] is the beginning.
func ReadText(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return Text(f, most)
}

// Text is ReadText for what is open already. A byte order mark, which editors put before a text
// without showing it, is not part of the text.
func Text(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, errUTF16
	}
	if int64(len(text)) > most {
		err = ErrTooLong
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}
