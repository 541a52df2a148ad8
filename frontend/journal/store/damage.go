package store

import (
	"github.com/cockroachdb/pebble/v2"
)

// DamageError reports that bytes that had been written whole no longer are.
type DamageError struct {
	File string // "" when the store does not name one
	Err  error
}

// Error returns the text of the store's error.
func (e *DamageError) Error() string { return e.Err.Error() }

// Unwrap returns the store's own error.
func (e *DamageError) Unwrap() error { return e.Err }

// asDamage turns the store's report of damage into a DamageError.
func asDamage(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	d := &DamageError{Err: err}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		d.File = info.Path
	}
	return d
}
