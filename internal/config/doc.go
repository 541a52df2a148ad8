// Package config turns the settings of a daemon into one Go struct, and reports
// where each value came from.
//
//	defaults (a Go struct)  <  YAML file  <  environment PIGEON_*  <  flag
//
// A daemon package declares a plain struct whose fields carry two tags, and a
// function that returns its defaults:
//
//	type Config struct {
//		Listen  string        `mapstructure:"listen" doc:"Address served to applications, host:port."`
//		Journal struct {
//			Sync time.Duration `mapstructure:"sync" doc:"Longest wait before an fsync; 0 syncs each group."`
//		} `mapstructure:"journal" doc:"Accepted jobs and their results."`
//	}
//
// The struct is the only definition of a key. From it come the flag
// (--journal-sync), the environment variable (PIGEON_JOURNAL_SYNC), the key in
// the file (sync under journal), the commented file written by [Write] and the
// listing of "pigeon config show".
//
// A list of entries is a slice of structs whose fields carry the same tags, and the tag
// default where it is not the zero value; a flag and a variable take the list as the file
// has it: [{name: a, size: 2}, {name: b}].
//
// A setting that has no effect is worse than one that is refused, so nothing is
// guessed: an unknown key, a misspelt PIGEON_ variable and a value of the wrong
// type are errors that name the key, the place and the nearest known name. All
// mistakes of one file are reported together. An environment variable that is
// set to the empty string counts as not set, because shells and unit files
// cannot always unset one.
//
// Bounds: a file holds at most 1 MiB, one document and no aliases.
package config
