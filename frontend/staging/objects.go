package staging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"

	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// chunkBytes is how much of a content one message has.
const chunkBytes = 512 << 10

// Objects keeps the staged files of a frontend in an object store of JetStream, beside its
// replicated journal. Its methods may be called from any goroutine.
//
//	Save ──▶ object SHA256.PROCESS-NUMBER ──▶ Load, by any later process of the frontend
//	                                     └──▶ Retain: removed when no job needs the content
//
// Only the process that leads the frontend has one. Each object is saved under a name of its
// own, and a process relies only on those that it has saved itself or has found when it began: a
// former process that does not know yet that it has been replaced cannot remove what its successor
// relies on, because to it the files of unfinished jobs are in use, too.
type Objects struct {
	servers *jetstore.Store
	config  jetstream.ObjectStoreConfig
	process string // distinguishes the objects of this process

	opening sync.Mutex // held while the bucket is opened

	mu     sync.Mutex
	bucket jetstream.ObjectStore // nil until it was opened
	names  map[string][]string   // of the objects, by SHA-256
	own    map[string]bool       // contents that this process has saved
	number int                   // of the last object of this process
}

// NewObjects returns the objects of a frontend. The object store is made when the first file is saved.
func NewObjects(servers *jetstore.Store, cluster, frontend string) *Objects {
	return &Objects{
		servers: servers, process: ulid.Make().String(), own: map[string]bool{},
		config: jetstream.ObjectStoreConfig{Bucket: jetstore.FileStore(cluster, frontend), Description: fmt.Sprintf("files that were sent with jobs of the frontend %q of the Pigeon cluster %q", frontend, cluster), Storage: jetstream.FileStorage},
	}
}

// Save returns when the content is on a majority of the servers' disks.
func (s *Objects) Save(ctx context.Context, sha256 string, content io.Reader) error {
	bucket, err := s.open(ctx, true)
	if err != nil {
		return err
	}
	s.mu.Lock()
	saved := s.own[sha256]
	s.number++
	name := sha256 + "." + s.process + "-" + strconv.Itoa(s.number)
	s.mu.Unlock()
	if saved {
		return nil
	}
	if _, err := bucket.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes}}, content); err != nil {
		return s.servers.Explain(err, "saving a staged file")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own[sha256] = true
	s.names[sha256] = append(s.names[sha256], name)
	return nil
}

// Load returns a content and its size.
func (s *Objects) Load(ctx context.Context, sha256 string) (io.ReadCloser, int64, error) {
	bucket, err := s.open(ctx, false)
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	var name string
	if names := s.names[sha256]; len(names) > 0 {
		name = names[len(names)-1]
	}
	s.mu.Unlock()
	if bucket == nil || name == "" {
		return nil, 0, fmt.Errorf("%w: the object store %s has no such file", fs.ErrNotExist, s.config.Bucket)
	}
	info, err := bucket.GetInfo(ctx, name)
	if err != nil {
		return nil, 0, s.servers.Explain(err, "reading a staged file")
	}
	size := int64(info.Size) //nolint:gosec // a size
	ctx, cancel := context.WithTimeout(ctx, loadTime(size))
	object, err := bucket.Get(ctx, name)
	if err != nil {
		cancel()
		return nil, 0, s.servers.Explain(err, "reading a staged file")
	}
	return loaded{object, cancel}, size, nil
}

// loadTime bounds the reading of a content of so many bytes: 5 seconds and what it takes at a
// mebibyte a second. The client library would give each content 5 seconds in all.
func loadTime(size int64) time.Duration {
	return 5*time.Second + time.Duration(size>>20)*time.Second
}

// loaded is an object that is being read.
type loaded struct {
	jetstream.ObjectResult
	cancel context.CancelFunc
}

func (l loaded) Close() error {
	defer l.cancel()
	return l.ObjectResult.Close()
}

// Retain removes the contents that are not used.
func (s *Objects) Retain(ctx context.Context, used func(sha256 string) bool) error {
	bucket, err := s.open(ctx, false)
	if bucket == nil || err != nil {
		return err
	}
	over := s.unused(used)
	for sha, names := range over {
		for i, name := range names {
			if err := bucket.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
				over[sha] = names[i:]
				s.putBack(over)
				return s.servers.Explain(err, "removing a staged file")
			}
		}
		delete(over, sha)
	}
	return nil
}

// unused takes the contents that are not used out of the lists, so that one that is saved again
// from now on is another object.
func (s *Objects) unused(used func(sha256 string) bool) map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := map[string][]string{}
	for sha, names := range s.names {
		if !used(sha) {
			over[sha] = names
			delete(s.names, sha)
			delete(s.own, sha)
		}
	}
	return over
}

// putBack puts the objects that were not removed into the lists again, so that the next Retain
// removes them. Those that were saved meanwhile stay behind them: Load takes the last.
func (s *Objects) putBack(over map[string][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sha, names := range over {
		s.names[sha] = append(slices.Clip(names), s.names[sha]...)
	}
}

// open returns the object store; nil when there is none, unless it is to be made.
func (s *Objects) open(ctx context.Context, create bool) (jetstream.ObjectStore, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	bucket := s.bucket
	s.mu.Unlock()
	if bucket != nil {
		return bucket, nil
	}
	if !create {
		_, err := s.servers.JetStream().ObjectStore(ctx, s.config.Bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			return nil, nil //nolint:nilnil // no file was ever saved
		}
		if err != nil {
			return nil, s.servers.Explain(err, "opening the object store "+s.config.Bucket)
		}
	}
	bucket, err := s.servers.ObjectStore(ctx, s.config)
	if err != nil {
		return nil, err
	}
	list, err := bucket.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, s.servers.Explain(err, "listing the object store "+s.config.Bucket)
	}
	names := map[string][]string{}
	for _, o := range list {
		sha, _, _ := strings.Cut(o.Name, ".")
		names[sha] = append(names[sha], o.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bucket, s.names = bucket, names
	return bucket, nil
}
