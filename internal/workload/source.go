package workload

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// Open reads a trace file, or generates the workload of a specification
// gen:NAME[,key=value...] (see Generators). The workload's name is spec.
func Open(spec string) (*Workload, error) {
	if rest, ok := strings.CutPrefix(spec, "gen:"); ok {
		return generate(spec, rest)
	}
	file, err := os.Open(spec)
	if err != nil {
		return nil, fmt.Errorf("cannot open the trace: %w; no job was run; use the path of a trace file, or gen:ec2 for a generated one", err)
	}
	defer func() { _ = file.Close() }() // only read
	text := bufio.NewReaderSize(file, readAhead)
	if start, err := text.Peek(len(gzipStart)); err == nil && string(start) == gzipStart {
		return nil, fmt.Errorf("cannot read trace %s: it is compressed by gzip; no job was run; decompress it first: gunzip -c %[1]s > FILE", spec)
	}
	if start, err := text.Peek(len(byteOrderMark)); err == nil && string(start) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // it was peeked
	}
	return Read(text, spec)
}

// gzipStart is how a file begins that gzip wrote.
const gzipStart = "\x1f\x8b"

// byteOrderMark is what spreadsheets put before a text.
const byteOrderMark = "\ufeff"
