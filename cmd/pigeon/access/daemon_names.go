package access

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// DaemonNameFault returns why no daemon of a role can have a name, "" when one can: what is made for
// it would admit nobody. The daemon's own settings decide. Other roles have no such names.
func DaemonNameFault(role identity.Role, name string) string {
	var key string
	var err error
	switch role {
	case identity.Frontend:
		c := frontend.Default()
		c.ID = name
		key, err = "id", c.Validate()
	case identity.Node:
		c := nodemonitor.Default()
		c.ID = name
		key, err = "id", c.Validate()
	case identity.Master:
		c := master.Default()
		var fault error
		if c.Group, fault = strconv.Atoi(name); fault != nil || strconv.Itoa(c.Group) != name {
			c.Group = -1 // "one", or "00" for 0: a master presents its group as a number
		}
		key, err = "group", c.Validate()
	}
	if fault, ok := errors.AsType[*config.FieldError](err); ok && fault.Key == key {
		return fmt.Sprintf("no %s has the %s %.140q; %s", role, key, name, fault.Problem)
	}
	return ""
}
