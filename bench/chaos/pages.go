package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/cluster"
)

// keepPages writes what every daemon reports about itself to a folder, to explain a run
// that found something.
func keepPages(ctx context.Context, c *cluster.Cluster, f fleet, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var failed error
	for _, v := range f.daemons() {
		for _, name := range []string{"status", "metrics"} {
			at := c.HTTP(v.role, v.number)
			if at == "" {
				continue
			}
			file := filepath.Join(dir, c.Name(v.role, v.number)+"."+name)
			err := get(ctx, fmt.Sprintf("http://%s/%s", at, name), func(r io.Reader) error {
				text, err := io.ReadAll(r)
				return errors.Join(err, os.WriteFile(file, text, 0o644))
			})
			if err != nil { // the error takes the place of the page
				failed = errors.Join(failed, os.WriteFile(file, []byte(err.Error()), 0o644))
			}
		}
	}
	return failed
}
