package staging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
)

// Replica keeps contents beyond this machine, for the process that takes this frontend over there.
// Its methods may be called from any goroutine.
type Replica interface {
	// Save returns when the content is durable. One that this process has saved is not sent again.
	Save(ctx context.Context, sha256 string, content io.Reader) error
	// Load returns a content and its size. The error is one of fs.ErrNotExist where there is none.
	Load(ctx context.Context, sha256 string) (io.ReadCloser, int64, error)
	// Retain removes the contents that are not used.
	Retain(ctx context.Context, used func(sha256 string) bool) error
}

const (
	// saveWait bounds how long a submission waits for its files to be saved. They are saved further
	// meanwhile, and the client submits the job again.
	saveWait = 5 * time.Second
	// transfers bounds the contents that are saved or loaded at the same time.
	transfers = 2
	// retainTime bounds the removing of contents that are not used, which is tried again.
	retainTime = 20 * time.Second
)

// transfer is a content on its way to the replica or from it.
type transfer struct {
	done chan struct{} // closed at its end
	err  error         // written before that
}

// save begins to save a content that is here, unless that is under way. Without a replica there is
// nothing to wait for.
func (k *Keeper) save(sha256 string) *transfer {
	return k.transfer("save "+sha256, func(ctx context.Context) error {
		content, err := os.Open(k.store.Path(sha256))
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }() // only read
		return k.cfg.Replica.Save(ctx, sha256, content)
	})
}

// load begins to fetch a content from the replica, unless that is under way.
func (k *Keeper) load(sha256 string) *transfer {
	return k.transfer("load "+sha256, func(ctx context.Context) error {
		content, size, err := k.cfg.Replica.Load(ctx, sha256)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }() // only read
		in, err := k.store.Receive(api.File{SHA256: sha256, Size: size})
		if err != nil {
			return err
		}
		if err := receive(in, content, size); err != nil {
			k.drop(in)
			return err
		}
		return nil
	})
}

// receive passes a content on in pieces.
func receive(in *filestore.Incoming, content io.Reader, size int64) error {
	piece := make([]byte, min(size, api.MaxPiece))
	for have := int64(0); ; {
		n, err := io.ReadFull(content, piece[:min(size-have, api.MaxPiece)])
		if err != nil {
			return fmt.Errorf("it ends after %d of %d bytes: %w", have+int64(n), size, err)
		}
		if have, err = in.Put(have, piece[:n]); err != nil || have == size {
			return err
		}
	}
}

// transfer begins a transfer unless the same is under way, and returns it.
func (k *Keeper) transfer(name string, do func(context.Context) error) *transfer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.transfers[name]; t != nil {
		return t
	}
	t := &transfer{done: make(chan struct{})}
	if t.err = context.Cause(k.ctx); t.err != nil { // Close may be waiting for those that run
		close(t.done)
		return t
	}
	k.transfers[name] = t
	k.running.Go(func() {
		select {
		case k.turns <- struct{}{}:
			t.err = do(k.ctx)
			<-k.turns
		case <-k.ctx.Done():
			t.err = context.Cause(k.ctx)
		}
		k.mu.Lock()
		delete(k.transfers, name)
		k.mu.Unlock()
		close(t.done)
	})
	return t
}

// saved returns nil when the contents of a job are durable beyond this machine, where they have to be.
func (k *Keeper) saved(ctx context.Context, list []api.StagedFile) error {
	if k.cfg.Replica == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveWait)
	defer cancel()
	for i := range list {
		t := k.save(list[i].SHA256)
		select {
		case <-t.done:
		case <-ctx.Done():
			return k.refusal(api.Busy, fmt.Sprintf("the staged file %q is still being copied to the NATS servers", list[i].Name), "submit the job again in a moment")
		}
		if t.err != nil {
			return k.refusal(api.NotReady, fmt.Sprintf("the staged file %q could not be copied to the NATS servers: %v", list[i].Name, t.err), "see that the NATS servers run and have room, then submit the job again")
		}
	}
	return nil
}

// fetchWait bounds how long a node waits for a content, before it asks again.
const fetchWait = 2 * time.Second

// fetched returns nil when a content is here. Otherwise the frontend has been taken over from another
// machine, and it is being fetched.
func (k *Keeper) fetched(sha256 string) error {
	if k.cfg.Replica == nil || k.store.Has(sha256) {
		return nil
	}
	t := k.load(sha256)
	select {
	case <-t.done:
	case <-time.After(fetchWait):
		return k.unfetched(api.NotReady, fmt.Sprintf("the file with the SHA-256 %s is being fetched from the NATS servers", sha256), "ask again in a moment")
	}
	if t.err == nil {
		return nil
	}
	if errors.Is(t.err, os.ErrNotExist) {
		return k.unfetched(api.NotFound, fmt.Sprintf("the file with the SHA-256 %s is neither here nor at the NATS servers: %v", sha256, t.err), "submit the job again, with its files")
	}
	return k.unfetched(api.NotReady, fmt.Sprintf("the file with the SHA-256 %s could not be fetched from the NATS servers: %v", sha256, t.err), "see that the NATS servers run, and that the frontend's disk has room")
}
