package chaos

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

var errNotRunning = errors.New("the daemon does not run")

// shiftTag is the build tag of a program whose wall clock can be moved (tools/wallshift.sh).
const shiftTag = "wallshift"

// canShift reports whether the programs of the daemons were built so that their wall
// clocks can be moved. The one of Beside need not be: its jumps do nothing.
func (o *Options) canShift() bool {
	program, err := o.program()
	if err != nil {
		return false
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-tags" && strings.Contains(s.Value, shiftTag) {
			return true
		}
	}
	return false
}

// program returns the program of the daemons.
func (o *Options) program() (string, error) {
	if o.Binary != "" {
		return o.Binary, nil
	}
	return product.Program()
}

// wallJump moves the wall clock of a daemon forward or back, from a second to twelve days,
// and sets it right at the end. A daemon that is started again meanwhile has the right time
// at once.
func (in *injector) wallJump(ctx context.Context, p planned) error {
	pid := in.c.Pid(p.of.role, p.of.number)
	if pid == 0 {
		return errNotRunning
	}
	by := jumpOf(p.amount)
	in.log(fmt.Sprintf("fault %d: by %d s", p.number, by))
	if err := shiftWall(in.walls, pid, by); err != nil {
		return err
	}
	delay.For(ctx, p.lasts)
	return shiftWall(in.walls, pid, 0)
}

// jumpOf returns by how many seconds a clock is moved: back below a half, forward above it,
// each power of ten as often as another.
func jumpOf(amount float64) int64 {
	const powers = 6
	by := int64(math.Pow(10, powers*math.Abs(2*amount-1)))
	if amount < 0.5 {
		return -by
	}
	return by
}

// shiftWall moves the wall clock of a process from now on.
func shiftWall(dir string, pid int, seconds int64) error {
	path := filepath.Join(dir, strconv.Itoa(pid))
	if err := os.WriteFile(path+".new", strconv.AppendInt(nil, seconds, 10), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path) // the process reads it at any time
}
