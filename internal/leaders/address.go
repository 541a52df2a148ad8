package leaders

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/daemon"
)

// Separator is put between the addresses of the masters of one group: "a:1/b:1".
const Separator = "/"

// most is how many masters a group may have.
const most = 9

// Split returns the addresses of the masters of one group, in the order of the setting.
func Split(setting string) []string { return strings.Split(setting, Separator) }

// FaultOfGroups returns why a setting does not list the masters of all groups, "" when it does.
func FaultOfGroups(settings []string) string {
	for group, setting := range settings {
		if fault := Fault(setting); fault != "" {
			return fmt.Sprintf("of group %d: %s", group, fault)
		}
	}
	return ""
}

// Fault returns why a setting is no list of the addresses of one group's masters, "" when
// it is.
func Fault(setting string) string {
	list := Split(setting)
	if len(list) > most {
		return fmt.Sprintf("%q names %d masters of one group, and %d is the most", setting, len(list), most)
	}
	for i, address := range list {
		switch {
		case !daemon.IsAddress(address) && len(list) == 1:
			return fmt.Sprintf("give host:port, not %q; several masters of one group are separated by %s", address, Separator)
		case !daemon.IsAddress(address):
			return fmt.Sprintf("give host:port for each master of the group, separated by %s, not %q in %q", Separator, address, setting)
		case slices.Contains(list[:i], address):
			return fmt.Sprintf("%q is twice in %q; name each master of the group once", address, setting)
		}
	}
	return ""
}
