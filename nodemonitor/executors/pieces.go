package executors

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// openTries is how often the files of an output are opened again because the newest was
// rotated away meanwhile.
const openTries = 10

// piece is one file of an output.
type piece struct {
	name string // when it was opened
	file *os.File
	info os.FileInfo // when it was opened
	size int64       // at most the limit: the executor may have made it longer
}

// pieces are the files of an output without a gap between them, the oldest first.
type pieces []piece

// open opens the files of an output. The executor may write in the folder: something else
// in the place of a file is an error.
//
// The guard may rotate the files meanwhile. It renames the oldest first and open opens the
// newest first, so that open may come upon a file twice but passes over none, as long as no
// newer one took the first place. Where one did, open starts again. An output that is
// rotated too fast for that is opened with its newest file alone.
func (o outputs) open(in *os.Root, stream string) (pieces, error) {
	for try := 1; ; try++ {
		opened, err := o.openOnce(in, stream)
		switch {
		case err != nil || isNewest(in, stream, opened):
			slices.Reverse(opened)
			return opened, err
		case try == openTries:
			newest := opened[:min(1, len(opened))]
			opened[len(newest):].close()
			return newest, nil
		}
		opened.close()
	}
}

// openOnce opens the files of an output that are there, the newest first.
func (o outputs) openOnce(in *os.Root, stream string) (opened pieces, err error) {
	for i := range rotations + 1 {
		name := outputName(stream, i)
		f, err := files.OpenRegular(in, name)
		if _, replaced := errors.AsType[*files.IrregularError](err); replaced {
			return opened, err
		}
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err != nil || len(opened) > 0 && os.SameFile(info, opened[len(opened)-1].info) {
			_ = f.Close() // only read
			continue
		}
		opened = append(opened, piece{name, f, info, min(info.Size(), o.limit)})
	}
	return opened, nil
}

// isNewest reports whether the first of the opened files, the newest first, still is the
// newest of its output.
func isNewest(in *os.Root, stream string, opened pieces) bool {
	for i := range rotations + 1 {
		name := outputName(stream, i)
		if info, err := in.Lstat(name); err == nil {
			return len(opened) > 0 && name == opened[0].name && os.SameFile(info, opened[0].info)
		}
	}
	return len(opened) == 0
}

// outputName returns the name of the file of an output that was its newest i rotations ago.
func outputName(stream string, i int) string {
	if i == 0 {
		return stream
	}
	return stream + "." + strconv.Itoa(i)
}

// close closes the files.
func (p pieces) close() {
	for _, one := range p {
		_ = one.file.Close() // only read
	}
}

// copyTail writes the last bytes of an output over all its files, 0 for all.
func (p pieces) copyTail(w io.Writer, tail int64) {
	all := int64(0)
	for _, one := range p {
		all += one.size
	}
	skip := int64(0)
	if tail > 0 {
		skip = max(0, all-tail)
	}
	for _, one := range p {
		from := min(skip, one.size)
		skip -= from
		if _, err := io.Copy(w, io.NewSectionReader(one.file, from, one.size-from)); err != nil {
			return // the client has disconnected
		}
	}
}
