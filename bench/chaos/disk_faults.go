package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// badDisk starts a frontend again on a disk that is slow or fails, and at the end on a good
// one. A frontend whose disk fails ends by itself, is started again by the supervisor and
// fails again, since the journal cannot be trusted after an error.
func (in *injector) badDisk(ctx context.Context, p planned) error {
	if err := in.onDisk(p.of, faultsOfDisk(p)); err != nil {
		return err
	}
	delay.For(ctx, p.lasts)
	return in.onDisk(p.of, "")
}

// onDisk kills a frontend and starts it again with a setting of journal_faults.
func (in *injector) onDisk(v victim, faults string) error {
	in.hold(v, true)
	_ = in.c.Kill(v.role, v.number) // it may have ended by itself
	if err := setFaults(filepath.Join(in.c.Dir(), "config", in.name(v)+".yaml"), faults); err != nil {
		in.hold(v, false)
		return err
	}
	in.restart(v)
	return nil
}

func (in *injector) nodeDisk(ctx context.Context, p planned) error {
	return nodeDisk(ctx, in.c.WorkFolder(p.of.number), p.lasts)
}

// nodeDisk puts a file in the place of a node's work folder for a while: nobody can write below it,
// root included.
func nodeDisk(ctx context.Context, folder string, lasts time.Duration) error {
	other := folder + ".other"
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		return err
	}
	err := exchange(folder, other)
	if err == nil {
		delay.For(ctx, lasts)
		err = exchange(folder, other)
	}
	return errors.Join(err, os.Remove(other))
}

// faultsOfDisk returns the setting journal_faults of a fault.
func faultsOfDisk(p planned) string {
	count := 1 + int(100*p.amount)
	switch {
	case p.kind == history.SlowDisk:
		return fmt.Sprintf("slow=%dms", count)
	case count%2 == 0:
		return fmt.Sprintf("write-error-after=%d", count)
	default:
		return fmt.Sprintf("fsync-error-after=%d", count)
	}
}

var faultsLine = regexp.MustCompile(`(?m)^journal_faults:.*\n`)

// setFaults changes the setting journal_faults in a frontend's configuration, which a frontend that
// starts, or the end of another fault, may read at any time.
func setFaults(path, faults string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = faultsLine.ReplaceAll(text, nil)
	if faults != "" {
		text = fmt.Appendf(text, "journal_faults: %q\n", faults)
	}
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
