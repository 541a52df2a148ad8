package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Anyone stands for the publisher's name in the subjects that a receiver subscribes to. No daemon
// has it as its name.
const Anyone = "\x00"

// IdleSubject is where the nodes of a group publish idle slots to its master. It ends in the name
// of the node where NATS servers know it by that ([Access.Identified]), and may then be the only
// one that publishes there; node is "" elsewhere, and as of versions that knew no names.
func IdleSubject(cluster string, group int, node string) string {
	return "pigeon." + Token(cluster) + ".master." + strconv.Itoa(group) + ".idle" + by(node)
}

// by returns the last part of a subject that ends in its publisher's name, if there is one.
func by(publisher string) string {
	switch publisher {
	case "":
		return ""
	case Anyone:
		return ".*"
	}
	return "." + Token(publisher)
}

// WaitingSubject is where the master of a group publishes to its nodes that tasks wait.
func WaitingSubject(cluster string, group int) string {
	return "pigeon." + Token(cluster) + ".master." + strconv.Itoa(group) + ".waiting"
}

// ReportSubject is where nodes report ended attempts to a frontend; node is as in [IdleSubject].
func ReportSubject(cluster, frontend, node string) string {
	return "pigeon." + Token(cluster) + ".frontend." + Token(frontend) + ".report" + by(node)
}

// AnnouncementSubject is where a frontend that starts publishes to all nodes of a cluster
// which process it is and where it serves them.
func AnnouncementSubject(cluster string) string {
	return "pigeon." + Token(cluster) + ".announcement"
}

// AckSubject is where frontends acknowledge to a node the reports that they have journaled.
func AckSubject(cluster, node string) string {
	return "pigeon." + Token(cluster) + ".node." + Token(node) + ".ack"
}

// CheckPublisher returns why a notice is not taken whose subject ends in another name than that of
// its sender. publisher is the token of the name, "" for a subject without one.
func CheckPublisher(publisher, sender string) error {
	if publisher == "" || publisher == Token(sender) {
		return nil
	}
	return &api.Error{
		Problem: api.Denied, Subject: "notice of " + sender, What: "it was published by " + publisher,
		Tried: "accepting it; nothing of it was taken", Next: "see which daemon has the certificate of that name",
	}
}

// maxToken bounds a token; a server cuts off a control line of 4 KiB.
const maxToken = 200

// Token makes a name one token of a subject: letters, digits, '-' and '_' stay,
// any other byte becomes '=' and two hexadecimal digits, and a name that is too
// long becomes "=h" and a hash. Different names have different tokens.
func Token(name string) string {
	if name == "" {
		return "="
	}
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			const digits = "0123456789ABCDEF"
			b.WriteByte('=')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	if b.Len() > maxToken {
		sum := sha256.Sum256([]byte(name))
		return "=h" + hex.EncodeToString(sum[:])
	}
	return b.String()
}
