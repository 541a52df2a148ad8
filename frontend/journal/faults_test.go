package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// A disk that fails at any write or fsync, or is full from any byte on: nothing is
// acknowledged that is not on it, every refusal has advice, and on a good disk the
// next opening finds all that was acknowledged, whatever of the rest a power failure keeps.
// The broken journals leave goroutines behind, so a child process has them.
func TestDiskFaultsLoseNothingAcknowledged(t *testing.T) {
	seeds := 100
	if testing.Short() {
		seeds = 30
	}
	cmd, out, _ := startChild(t, "faults", strconv.Itoa(seeds))
	for out.Scan() {
		t.Log(out.Text())
	}
	must(t, cmd.Wait())
}

func childFaults(seeds string) error {
	n, err := strconv.Atoi(seeds)
	if err != nil {
		return err
	}
	broke := map[string]int{}
	for seed := range n {
		if err := faultyLives(uint64(seed), broke); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	fmt.Fprintln(os.Stdout, "journals by how they ended:", broke)
	for _, how := range []string{"closed", "broken", "not opened"} {
		if broke[how] == 0 {
			return fmt.Errorf("no journal was %s: the faults do not reach all places", how)
		}
	}
	return nil
}

// faultyLives runs a journal on a failing disk several times.
func faultyLives(seed uint64, ends map[string]int) error {
	rng := rand.New(rand.NewPCG(seed, 2))
	disk, a := vfs.NewCrashableMem(), newAcknowledged()
	for life := range 4 {
		var f store.Faults
		switch rng.IntN(4) {
		case 0:
			f.WriteErrors = 1 + rng.Int64N(600)
		case 1:
			f.FsyncErrors = 1 + rng.Int64N(200)
		case 2:
			f.FullAfter = 1 + rng.Int64N(200_000)
		default:
			f = store.Faults{WriteErrors: 1 + rng.Int64N(2000), FsyncErrors: 1 + rng.Int64N(500), FullAfter: 1 + rng.Int64N(1_000_000)}
		}
		how, err := faultyLife(disk, f, a, fmt.Sprint(life))
		if err != nil {
			return fmt.Errorf("life %d with %+v: %w", life, f, err)
		}
		ends[how]++
		kept := []int{0, 100, rng.IntN(101)}[rng.IntN(3)]
		disk = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rng})
		j, _, k, err := tryOpen("/data/journal", onFS(disk))
		if err != nil {
			return fmt.Errorf("life %d with %+v, %d %% kept, does not open on a good disk: %w", life, f, kept, err)
		}
		if what := a.missing(k); what != "" {
			return fmt.Errorf("life %d with %+v, %d %% kept, lacks %s", life, f, kept, what)
		}
		if err := j.Close(); err != nil {
			return err
		}
	}
	return nil
}

// faultyLife opens a journal on a failing disk, uses it, and returns how it ended.
func faultyLife(disk store.FS, f store.Faults, a *acknowledged, prefix string) (how string, err error) {
	j, _, k, err := tryOpen("/data/journal", onFS(f.On(disk)))
	if err != nil {
		return "not opened", wantsAdvice(err)
	}
	if what := a.missing(k); what != "" {
		return "", fmt.Errorf("it lacks %s", what)
	}
	a.use(j, prefix, 3, 25)
	broken := j.Err()
	if err := j.Close(); err != nil {
		return "broken", wantsAdvice(err)
	}
	if broken != nil {
		return "", fmt.Errorf("it was broken (%w) and closed without an error", broken)
	}
	return "closed", nil
}

// wantsAdvice returns an error unless err is one of the journal's own refusals, or one of
// them with others.
func wantsAdvice(err error) error {
	if e, ok := errors.AsType[*api.Error](err); !ok || e.What == "" || e.Next == "" {
		return fmt.Errorf("the refusal says not what to do: %w", err)
	}
	return nil
}

// A slow disk delays acknowledgements and loses none.
func TestSlowDisk(t *testing.T) {
	disk := vfs.NewMem()
	j, _, _, err := tryOpen("/data/journal", onFS(store.Faults{Slow: 5 * time.Millisecond}.On(disk)))
	must(t, err)
	a := newAcknowledged()
	a.use(j, "slow", 8, 3)
	must(t, j.Close())
	if len(a.jobs) != 24 {
		t.Fatalf("%d jobs were acknowledged", len(a.jobs))
	}
	j, _, k, err := tryOpen("/data/journal", onFS(disk))
	must(t, err)
	must(t, j.Close())
	if what := a.missing(k); what != "" {
		t.Fatalf("it lacks %s", what)
	}
}
