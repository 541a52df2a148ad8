//go:build !linux

package chaos

import "errors"

// disk is a small file system.
type disk struct{ dir string }

var errNoDisk = errors.New("only Linux has mount namespaces")

func newDisk(string) (*disk, error) { return nil, errNoDisk }

func (*disk) fill(float64) (func(), error) { return func() {}, errNoDisk }

func (*disk) keep(string) error { return errNoDisk }

func (*disk) unmount() error { return errNoDisk }

func exchange(string, string) error {
	return errors.New("only Linux exchanges two folders in one step")
}
