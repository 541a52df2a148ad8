package staging

import (
	"context"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Fetch fetches a file into a store, unless it is there. dial returns the frontend that has it.
func Fetch(ctx context.Context, store *filestore.Store, f api.File, dial func() (wire.FileKeeper, error)) error {
	if err := store.Expect(f); err != nil || store.Has(f.SHA256) {
		return err
	}
	from, err := dial()
	if err != nil {
		return err
	}
	have, err := store.Put(f.SHA256, -1, nil) // another one may have begun
	for err == nil && !store.Has(f.SHA256) {
		piece, failed := from.FilePiece(ctx, f.SHA256, have, api.MaxPiece)
		if failed != nil {
			return failed
		}
		if len(piece.Data) == 0 {
			return fmt.Errorf("the frontend has %d bytes of it, and %d were announced", piece.Size, f.Size)
		}
		have, err = store.Put(f.SHA256, have, piece.Data)
	}
	return err
}
