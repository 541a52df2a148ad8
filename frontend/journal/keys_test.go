package journal

import (
	"encoding/hex"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The keys are fixed, as the values are: an opening of the journal by a later program finds what this one
// wrote.
func TestKeysAreFixed(t *testing.T) {
	id := sched.JobID{Hi: 1, Lo: 2}
	const at, idBytes = "000000000000000a", "00000000000000010000000000000002"
	for want, key := range map[string][]byte{
		"6a" + "0000020000000003" + "00":              jobKey(nil, 2<<countBits|3),
		"6a" + "0000020000000003" + "01" + "00000004": bundleKey(nil, 2<<countBits|3, 4),
		"65" + idBytes:                      endedKey([]byte{}, id),
		"78" + at + idBytes:                 expiryKey(nil, 10, id),
		"78" + "0000000000000000" + idBytes: expiryKey(nil, -10, id),
		"78" + at + idBytes + "00000003":    stoppedKey(nil, 10, id, 3),
		"6170":                              appKey(nil, "p"),
		"73" + "00000005":                   ringKey(nil, 5),
		"73" + "00000001":                   ringKey(nil, 1<<16+1),
		"6d6e":                              metaKey("n"),
	} {
		if got := hex.EncodeToString(key); got != want {
			t.Errorf("a key is %s, want %s", got, want)
		}
	}
}
