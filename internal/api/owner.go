package api

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pigeon-sched/pigeon/internal/shares"
)

// Limits of an owner and of a job's name.
const (
	MaxOwnerLevels = shares.MostLevels // of an owner's path; masters take the rest of a longer one for one level
	MaxOwnerBytes  = shares.MostBytes  // of the whole path
	MaxNameBytes   = 256               // of a job's name
)

// CheckOwner returns an *[Error] when a path cannot be an owner. An owner is "" (nobody in
// particular) or a path of levels such as "team/alice": at most [MaxOwnerLevels] levels and
// [MaxOwnerBytes] bytes of valid UTF-8, without an empty level, control characters, or
// spaces at either end of a level. It is called where owners enter the system: cores rely
// on it.
func CheckOwner(path string) error {
	what, next := ownerFault(path)
	if what == "" {
		return nil
	}
	return &Error{Problem: Invalid, What: "it " + what, Subject: fmt.Sprintf("owner %q", clipped(path)), Tried: "reading it as a path", Next: next}
}

// ownerFault returns the rule that a path breaks and what to do about it, "" for a path
// that can be an owner.
func ownerFault(path string) (what, next string) {
	switch {
	case path == "":
		return "", ""
	case len(path) > MaxOwnerBytes:
		return fmt.Sprintf("has %d bytes, more than the limit of %d", len(path), MaxOwnerBytes), "use a shorter path"
	case !utf8.ValidString(path):
		return "is not valid UTF-8", "use a path of text, such as team/alice"
	case strings.ContainsFunc(path, unicode.IsControl):
		return "contains a control character", "leave it out"
	}
	levels := strings.Split(path, "/")
	if len(levels) > MaxOwnerLevels {
		return fmt.Sprintf("has %d levels, more than the limit of %d", len(levels), MaxOwnerLevels), "use fewer levels"
	}
	for i, l := range levels {
		switch {
		case l == "":
			return fmt.Sprintf("has nothing between two slashes or at an end: level %d is empty", i+1), "write the names of the levels with one slash between them, such as team/alice"
		case strings.TrimSpace(l) != l:
			return fmt.Sprintf("has a space at an end of level %d (%q)", i+1, l), "leave the space out"
		}
	}
	return "", ""
}

// nameFault returns what is wrong with a job's name, "" when nothing.
func nameFault(name string) string {
	switch {
	case len(name) > MaxNameBytes:
		return fmt.Sprintf("has %d bytes, more than the limit of %d", len(name), MaxNameBytes)
	}
	return textFault(name)
}

// textFault returns why a name is no text, "" when it is.
func textFault(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "contains a control character"
	}
	return ""
}

// OwnerOf returns the owner of a job: the explicit one when there is one, else group/user,
// else the one of the two that is given, else "". The group and the user are those in the
// published TUserGroupInfo. A group with slashes is several levels, a user is always one.
// What an owner cannot contain becomes "_", empty levels of a group are left out, and what
// is too long is cut, the group first: clients that state odd users and groups are served
// as before. An explicit owner is returned as it is; see [CheckOwner].
func OwnerOf(explicit, group, user string) string {
	if explicit != "" {
		return explicit
	}
	user = ownerLevel(user, MaxOwnerBytes/2)
	room := MaxOwnerBytes
	most := MaxOwnerLevels
	if user != "" {
		room -= len(user) + 1
		most--
	}
	path := groupPath(group, most, room)
	switch {
	case path == "":
		return user
	case user == "":
		return path
	}
	return path + "/" + user
}

// groupPath returns a group as the first levels of an owner, at most that many levels and
// bytes.
func groupPath(group string, levels, room int) string {
	var b strings.Builder
	for l := range strings.SplitSeq(group, "/") {
		slash := min(1, b.Len())
		l = ownerLevel(l, room-slash)
		if l == "" {
			continue
		}
		if levels == 0 {
			break
		}
		levels--
		room -= slash + len(l)
		b.WriteString("/"[:slash])
		b.WriteString(l)
	}
	return b.String()
}

// ownerLevel returns a name as one level of an owner, of at most that many bytes; "" when
// nothing of it remains.
func ownerLevel(name string, most int) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == utf8.RuneError || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, strings.TrimSpace(name))
	if len(name) > most {
		most = max(most, 0)
		for most > 0 && !utf8.RuneStart(name[most]) {
			most--
		}
		name = name[:most]
	}
	return strings.TrimSpace(name)
}

// IsBelow reports whether an owner is the given path or a path below it: "team/alice" is
// below "team", "teams" is not. Every owner is below "".
func IsBelow(owner, path string) bool {
	return path == "" || owner == path || strings.HasPrefix(owner, path) && owner[len(path)] == '/'
}
