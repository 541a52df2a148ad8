package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// StageBytes returns how many bytes the staged files of a job may have at those frontends that
// answer now: at the one that takes the most, below 0 where none takes any. 0: not known.
func (c *Client) StageBytes(ctx context.Context) (most int64) {
	silent := c.identifyAll(ctx)
	for _, f := range c.Frontends() {
		if silent[f] != nil {
			continue
		}
		identity, err := f.Identify(ctx)
		if err != nil || identity.StageBytes == 0 {
			return 0
		}
		if most == 0 || identity.StageBytes > most {
			most = identity.StageBytes
		}
	}
	return most
}

// sendFiles sends a frontend those contents of the staged files that it does not have from this
// user. Each answer is waited for as long as any other one.
func (s *submission) sendFiles(ctx context.Context, f *Frontend) error {
	have, err := within(ctx, s, func(ctx context.Context) ([]int64, error) { return f.StageFiles(ctx, s.r.Stage) })
	if err != nil {
		return err // of a frontend of before, too: it does not offer the method
	}
	if len(have) != len(s.r.Stage) {
		return fmt.Errorf("frontend %s answered for %d of %d staged files; run the same version of pigeon on all hosts", f.Address, len(have), len(s.r.Stage))
	}
	sent := map[string]bool{}
	for i := range s.r.Stage {
		file := &s.r.Stage[i]
		if have[i] >= file.Size || sent[file.SHA256] {
			continue
		}
		sent[file.SHA256] = true
		if err := s.sendFile(ctx, f, file, have[i]); err != nil {
			return err
		}
	}
	return nil
}

// sendFile sends the rest of a file.
func (s *submission) sendFile(ctx context.Context, f *Frontend, file *api.StagedFile, have int64) error {
	changed := func(what string) error {
		return &api.Error{Problem: api.Invalid, What: what, Subject: fmt.Sprintf("staged file %q", file.Name), Tried: "sending it to frontend " + f.Address + "; nothing was accepted", Next: "submit again when nothing writes to it"}
	}
	path, known := s.files[file.SHA256]
	if !known {
		return changed("its content is not known here")
	}
	from, err := os.Open(path)
	if err != nil {
		return changed("it cannot be read any more: " + err.Error())
	}
	defer func() { _ = from.Close() }() // only read
	piece := make([]byte, api.MaxPiece)
	for again := 0; have < file.Size; {
		n, err := from.ReadAt(piece[:min(int64(len(piece)), file.Size-have)], have)
		if n == 0 {
			return changed(fmt.Sprintf("it ends after %d bytes, and had %d: %v", have, file.Size, err))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return changed("it cannot be read any more: " + err.Error())
		}
		arrived, err := within(ctx, s, func(ctx context.Context) (int64, error) {
			return f.StagePiece(ctx, file.SHA256, have, piece[:n])
		})
		if err != nil {
			if hasProblem(err, api.Invalid) && !unanswered(err) {
				return changed("it has changed since it was read first: " + err.Error())
			}
			return err
		}
		if arrived <= have { // another client of this user sends the same, or began anew
			if again++; again > 100 {
				return changed("it does not arrive")
			}
		}
		have = arrived
	}
	return nil
}

// within makes a call in the time of one answer.
func within[T any](ctx context.Context, s *submission, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.c.opts.Timeout)
	defer cancel()
	return do(ctx)
}
