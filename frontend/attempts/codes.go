package attempts

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// code is the code of a failure in one byte: one more than its place in api.FailureCodes, 0 for
// none. Codes are only ever added at the end there.
type code uint8

// codeOf returns a code by its name; one that this version does not know is none.
func codeOf(name string) code {
	return code(slices.Index(api.FailureCodes(), name) + 1) //nolint:gosec // a few
}

// String returns its name, "" for none.
func (c code) String() string {
	if names := api.FailureCodes(); c > 0 && int(c) <= len(names) {
		return names[c-1]
	}
	return ""
}
