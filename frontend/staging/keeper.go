package staging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// maxKnown bounds the files that users have announced, each user's apart.
	maxKnown = 200_000
	// userPart is the part of all bytes and of maxKnown that the files of one user may have, as the
	// jobs of one user may of max_bytes.
	userPart = 2
)

// Config is what a Keeper needs.
type Config struct {
	Frontend string // its name
	Folder   string
	JobBytes int64   // of the files of one job; 0: no files are taken
	Bytes    int64   // of all files
	Replica  Replica // nil: the files are in the folder alone
	Now      func() time.Time
	Log      *slog.Logger
}

// Keeper keeps the files. All methods may be called from any goroutine. One goroutine of its own
// removes what is not used, from New to Close; beside a replica there is one for each content on its
// way to it or from it.
//
// The store may ask the keeper what is used while it is locked. So nothing that waits for the store
// is called with the keeper's lock.
type Keeper struct {
	cfg   Config
	store *filestore.Store
	stop  chan struct{}
	gone  chan struct{}
	close sync.Once

	ctx     context.Context // of transfers; ended by Close
	end     context.CancelCauseFunc
	running sync.WaitGroup
	turns   chan struct{} // holds a token for each transfer that runs

	mu        sync.Mutex
	transfers map[string]*transfer
	known     map[possession]*file
	held      map[sched.JobID]*Hold // of unfinished jobs
	uses      map[string]int        // by SHA-256: the holds, and the possessions that are not over
	shares    map[string]share      // of known, by user
}

// share is how much of the keeper's room the files of a user have.
type share struct {
	files int
	bytes int64
}

// possession is a content and who has sent it.
type possession struct{ user, sha256 string }

// file is a content that a user has announced.
type file struct {
	api.File
	incoming *filestore.Incoming // nil: the user has it by a job of a process before
	jobs     int                 // unfinished ones of the user that have it
	used     time.Time           // when it was used last, while there is no such job
}

// New opens the folder and begins to remove what is not used.
func New(cfg Config) (*Keeper, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	store, err := filestore.OpenFor(filestore.Texts{
		One: "staged file", Many: "staged files", Room: "submit later, when jobs that need others have ended, or to another frontend, or raise stage_bytes",
		Announce: "announce it with all files of its job first", Again: "submit the job again, with its files",
	}, cfg.Folder, cfg.Bytes)
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		cfg: cfg, store: store, stop: make(chan struct{}), gone: make(chan struct{}),
		turns: make(chan struct{}, transfers), transfers: map[string]*transfer{},
		known: map[possession]*file{}, held: map[sched.JobID]*Hold{}, uses: map[string]int{}, shares: map[string]share{},
	}
	k.ctx, k.end = context.WithCancelCause(context.Background())
	go k.sweep()
	return k, nil
}

// Close ends the removing. The files stay. It is safe twice.
func (k *Keeper) Close() error {
	k.close.Do(func() {
		k.mu.Lock()
		k.end(errors.New("the frontend is stopping"))
		k.mu.Unlock()
		close(k.stop)
	})
	<-k.gone
	k.running.Wait()
	return nil
}

// Stats returns which files were not used as they were found.
func (k *Keeper) Stats() filestore.Stats { return k.store.Stats() }

// Announce makes room for the files of a job of a user, and returns how many bytes of each have
// arrived from that user. Bounded says that the user may have a part of the room only.
func (k *Keeper) Announce(user string, bounded bool, list []api.StagedFile) (have []int64, err error) {
	if what, next := api.StageFault(list); what != "" {
		return nil, k.refusal(api.Invalid, what, next)
	}
	if err := k.fits(list); err != nil {
		return nil, err
	}
	have = make([]int64, len(list))
	for i := range list {
		if have[i], err = k.announce(user, bounded, list[i].File()); err != nil {
			return nil, err
		}
	}
	return have, nil
}

// fits returns an error when the files are more than those of one job may be.
func (k *Keeper) fits(list []api.StagedFile) error {
	n := api.StagedContent(list)
	if len(list) == 0 || k.cfg.JobBytes > 0 && n <= k.cfg.JobBytes {
		return nil
	}
	what, next := api.StageExcess(fmt.Sprintf("%d bytes", n), k.cfg.JobBytes)
	return k.refusal(api.Invalid, what, next)
}

func (k *Keeper) announce(user string, bounded bool, f api.File) (have int64, err error) {
	p := possession{user, f.SHA256}
	if k.has(p, f.Size) {
		return f.Size, nil
	}
	in, err := k.expect(p, bounded, &f)
	if err != nil {
		return 0, err
	}
	if f.Size == 0 {
		return in.Put(0, nil)
	}
	return in.Put(-1, nil)
}

// expect returns what receives a file of a user: what does so already, or something new.
func (k *Keeper) expect(p possession, bounded bool, f *api.File) (*filestore.Incoming, error) {
	k.mu.Lock()
	if known := k.known[p]; known != nil && known.incoming != nil && !known.incoming.Arrived() && known.Size == f.Size {
		known.used = k.cfg.Now()
		k.mu.Unlock()
		return known.incoming, nil
	}
	err := k.admit(p.user, bounded, f)
	k.mu.Unlock()
	if err != nil {
		return nil, err
	}
	in, err := k.store.Receive(*f)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	known := k.known[p]
	if known == nil {
		known = k.add(p)
	}
	before := known.incoming // of content that is gone, or of another size, or of another call at the same time
	k.resize(p.user, known, f)
	known.incoming, known.used = in, k.cfg.Now()
	k.mu.Unlock()
	k.drop(before)
	return in, nil
}

// add enters a content that a user has announced, without bytes yet. It needs the lock.
func (k *Keeper) add(p possession) *file {
	f := &file{File: api.File{SHA256: p.sha256}}
	k.known[p] = f
	k.uses[p.sha256]++
	s := k.shares[p.user]
	s.files++
	k.shares[p.user] = s
	return f
}

// resize sets what a content that a user has announced is. It needs the lock.
func (k *Keeper) resize(user string, known *file, is *api.File) {
	s := k.shares[user]
	s.bytes += is.Size - known.Size
	k.shares[user] = s
	known.File = *is
}

// remove forgets a content that a user has announced. It needs the lock.
func (k *Keeper) remove(p possession) {
	s := k.shares[p.user]
	s.files--
	s.bytes -= k.known[p].Size
	if k.shares[p.user] = s; s.files == 0 {
		delete(k.shares, p.user)
	}
	delete(k.known, p)
	k.unuse(p.sha256)
}

// drop gives up a file that has not arrived; nil is none.
func (k *Keeper) drop(in *filestore.Incoming) {
	if in == nil {
		return
	}
	if err := in.Drop(); err != nil {
		k.cfg.Log.Warn("a part of a staged file could not be removed; that is done at the next start", "error", err)
	}
}

// admit returns an error when a user has no room for a file. It needs the lock.
func (k *Keeper) admit(user string, bounded bool, f *api.File) error {
	mine := k.shares[user]
	known := k.known[possession{user, f.SHA256}]
	switch {
	case known != nil: // it has a place, perhaps with another size
		mine.bytes -= known.Size
	case len(k.known) >= maxKnown:
		return k.refusal(api.Busy, fmt.Sprintf("%d staged files are known, the limit", len(k.known)), "submit later, when jobs with staged files have ended, or to another frontend")
	case bounded && mine.files >= maxKnown/userPart:
		return k.refusal(api.Busy, fmt.Sprintf("%d staged files of %s are known, the limit for one user (half of %d)", mine.files, named(user), maxKnown), "submit later, when your jobs with staged files have ended, or to another frontend, or put the files into an archive")
	}
	all := mine.bytes + f.Size
	if most := k.cfg.Bytes / userPart; bounded && all > most {
		return k.refusal(api.Busy, fmt.Sprintf("with this one the staged files of %s have %d bytes, more than the limit of %d for one user (half of stage_bytes)", named(user), all, most), "submit later, when your jobs that need others have ended, or to another frontend, or raise stage_bytes")
	}
	return nil
}

// has reports whether a user has a content of that size, and it is here.
func (k *Keeper) has(p possession, size int64) bool {
	k.mu.Lock()
	known := k.known[p]
	has := known != nil && known.Size == size && (known.incoming == nil || known.incoming.Arrived())
	if has {
		known.used = k.cfg.Now()
	}
	k.mu.Unlock()
	return has && k.store.Has(p.sha256)
}

// Put receives a piece of a file that a user has announced, and returns how many bytes of it have
// arrived.
func (k *Keeper) Put(user, sha256 string, offset int64, data []byte) (have int64, err error) {
	k.mu.Lock()
	var in *filestore.Incoming
	known := k.known[possession{user, sha256}]
	if known != nil {
		known.used = k.cfg.Now()
		in, have = known.incoming, known.Size
	}
	k.mu.Unlock()
	switch {
	case known == nil:
		return 0, k.refusal(api.NotReady, fmt.Sprintf("the file with the SHA-256 %.64q was not announced here in the last ten minutes", sha256), "announce it with all files of its job first")
	case in == nil:
		return have, nil
	}
	have, err = in.Put(offset, data)
	if err == nil && k.cfg.Replica != nil && in.Arrived() {
		k.save(sha256) // the submission follows
	}
	return have, err
}

// Piece returns a piece of a file that a job holds, to a node; here is false when none does.
func (k *Keeper) Piece(sha256 string, offset int64, limit int) (data []byte, size int64, here bool, err error) {
	k.mu.Lock()
	here = k.uses[sha256] > 0
	k.mu.Unlock()
	if !here {
		return nil, 0, false, nil
	}
	if err := k.fetched(sha256); err != nil {
		return nil, 0, true, err
	}
	data, size, err = k.store.Read(sha256, offset, limit)
	return data, size, true, err
}

// named names a user in a message.
func named(user string) string {
	if user == "" {
		return "who submits it"
	}
	return user
}
