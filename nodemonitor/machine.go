package nodemonitor

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// memory returns the memory that this node offers to processes of applications, in MB.
func (c Config) memory() int64 {
	if c.Memory > 0 {
		return c.Memory
	}
	return MachineMemory()
}

// MachineMemory returns the memory that a node offers to processes of applications by
// default, in MB: half of its machine's. Nodes that share a machine need a setting.
func MachineMemory() int64 {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0 // not Linux: a setting is needed
	}
	return totalMemory(string(info)) / 2
}

// totalMemory reads the machine's memory, in MB, from the text of /proc/meminfo; 0
// when the text lacks it.
func totalMemory(info string) int64 {
	for line := range strings.Lines(info) {
		var kB int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kB); n == 1 {
			return kB / 1024
		}
	}
	return 0
}

// host returns the machine's name for applications.
func (c Config) host(address string) string {
	if c.Host != "" {
		return c.Host
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}
