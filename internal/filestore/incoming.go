package filestore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Incoming is a file that one sender sends, in a part of its own: what another one sends under
// the same hash, be it wrong, changes nothing of it. So a sender whose file has arrived has had
// its content, also where the store had it before. The methods may be called from any goroutine.
type Incoming struct {
	store *Store
	file  api.File
	part  string

	arrived atomic.Bool

	mu   sync.Mutex
	have int64
	sum  hash.Hash // of the bytes that have arrived
	over bool      // it has arrived, or was dropped
}

// Receive makes room for a file of a sender. It is refused when the store has none. Drop must
// follow when the file does not arrive.
func (s *Store) Receive(f api.File) (*Incoming, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(&f, f.Size); err != nil {
		return nil, err
	}
	s.bytes += f.Size
	s.received++
	return &Incoming{store: s, file: f, part: s.Path(f.SHA256) + "." + strconv.FormatUint(s.received, 10) + partSuffix}, nil
}

// Put appends a piece, and returns how many bytes have arrived. A piece that does not begin there
// changes nothing: the sender continues from the answer. With the last one the file is in its
// place; when its hash is wrong it is to be sent again from its first byte. A file without bytes
// arrives with an empty piece.
func (in *Incoming) Put(offset int64, data []byte) (have int64, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s, sha := in.store, in.file.SHA256
	switch {
	case len(data) > api.MaxPiece:
		return in.have, s.wrong(sha, api.Invalid, fmt.Sprintf("a piece has %d bytes, the limit is %d", len(data), api.MaxPiece), "send smaller pieces")
	case in.over, offset != in.have, len(data) == 0 && in.file.Size > 0:
		return in.have, nil
	case in.have+int64(len(data)) > in.file.Size:
		return in.have, s.wrong(sha, api.Invalid, fmt.Sprintf("it grows beyond the %d bytes announced", in.file.Size), "announce it with its size")
	}
	if err := s.write(in.part, in.have, data); err != nil {
		return in.have, s.unwritten(sha, err)
	}
	if in.have == 0 {
		in.sum = sha256.New()
	}
	in.sum.Write(data)
	if in.have += int64(len(data)); in.have < in.file.Size {
		return in.have, nil
	}
	if err := in.arrive(); err != nil {
		in.have = 0
		return 0, err
	}
	in.over = true
	in.arrived.Store(true)
	return in.have, nil
}

// arrive puts the whole file into its place, over what has its name there: from then on it counts
// as one of the store's. It needs the lock.
func (in *Incoming) arrive() error {
	s, sha := in.store, in.file.SHA256
	if got := sumOf(in.sum); got != sha {
		return s.otherHash(sha, got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.settled(sha)
	isNew := e == nil
	if isNew {
		e = &entry{} // its bytes are counted as this sender's until it is here
		s.enter(sha, e)
	}
	if err := s.place(sha, e, in.part, in.file.Size); err != nil {
		if isNew {
			s.forget(sha)
		}
		return err
	}
	s.bytes -= in.file.Size
	return nil
}

// Arrived reports whether the file has arrived whole. It waits for nobody.
func (in *Incoming) Arrived() bool { return in.arrived.Load() }

// Drop gives up a file that has not arrived, and the room for it. It is safe twice.
func (in *Incoming) Drop() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.over {
		return nil
	}
	in.over, in.have = true, -1
	in.store.mu.Lock()
	in.store.bytes -= in.file.Size
	in.store.mu.Unlock()
	if err := in.store.disk.Remove(in.part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
