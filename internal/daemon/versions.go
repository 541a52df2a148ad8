package daemon

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// features are what this version can do beyond what every version can, as hellos state it.
// A peer may use one only towards those that state it.
var features = []string{
	"refused-kinds", // answers to batches name the kinds of messages that it does not know
	"stopping",      // a last hello or snapshot says that its sender stops in order
	LaunchSecrets,   // reports carry the secrets of their launches
}

// LaunchSecrets is the feature of daemons that pass on the secrets of launches, and of a master
// whose nodes do, too.
const LaunchSecrets = "launch-secrets"

// Features returns what this version can do beyond what every version can, as a hello states
// it.
func Features() []string { return features }

// release is a version that says which minor version it belongs to: of a tag, or a
// pseudo-version of a commit after one.
var release = regexp.MustCompile(`^v([0-9]{1,9})\.([0-9]{1,9})\.[0-9]+`)

// minorOf returns the major and minor version of what [Version] returns. ok is false for a
// build that belongs to none: "(devel)", "unknown", nothing, or a commit before the first tag
// (v0.0.0-...).
func minorOf(version string) (major, minor int, ok bool) {
	word, _, _ := strings.Cut(version, " ")
	parts := release.FindStringSubmatch(word)
	if parts == nil || strings.HasPrefix(word, "v0.0.0-") {
		return 0, 0, false
	}
	major, _ = strconv.Atoi(parts[1]) // at most nine digits
	minor, _ = strconv.Atoi(parts[2])
	return major, minor, true
}

// Incompatible returns why two daemons of these versions cannot work next to each other, ""
// when they can: their major versions are the same and their minor ones differ by at most one
// (docs/adr/0035-versions.md). A build that belongs to no release works next to any, because
// nothing is known about it; messages that one side does not know are refused all the same.
func Incompatible(one, other string) string {
	major1, minor1, ok1 := minorOf(one)
	major2, minor2, ok2 := minorOf(other)
	if !ok1 || !ok2 || major1 == major2 && minor1-minor2 <= 1 && minor2-minor1 <= 1 {
		return ""
	}
	return fmt.Sprintf("versions %s and %s are more than one minor version apart", one, other)
}
