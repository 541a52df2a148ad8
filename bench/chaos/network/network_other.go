//go:build !linux

package network

import (
	"context"
	"errors"
	"io"
)

var errNotHere = errors.New("only Linux has network namespaces")

// Network is hosts and the switch between them.
type Network struct{}

// New fails.
func New(int) (*Network, error) { return nil, errNotHere }

// Entered reports whether Enter started this program.
func Entered() bool { return false }

// Enter fails.
func Enter(context.Context, []string, io.Writer, io.Writer) (int, bool, error) {
	return 0, false, errNotHere
}

// Address returns "".
func (*Network) Address(int) string { return "" }

// Command returns the command.
func (*Network) Command(_ int, argv []string) []string { return argv }

// Add does nothing.
func (*Network) Add(Rule, func(from, to int) bool) func() { return func() {} }

// Counts returns zeros.
func (*Network) Counts() Counts { return Counts{} }

// Close does nothing.
func (*Network) Close() {}
