package compare

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is where a comparison was made.
type Machine struct {
	Processor  string `json:"processor"` // its model, "unknown" where the system does not tell
	Processors int    `json:"processors"`
	Memory     string `json:"memory"`
	Platform   string `json:"platform"`
	Go         string `json:"go"`
}

func thisMachine() Machine {
	return Machine{
		Processor: field("/proc/cpuinfo", "model name"), Processors: runtime.NumCPU(),
		Memory: memory(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
}

// String is one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d processors, %s of memory, %s, %s", m.Processor, m.Processors, m.Memory, m.Platform, m.Go)
}

const unknown = "unknown"

// field returns the value of the first "key: value" in a file of /proc.
func field(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return unknown // another system
	}
	defer func() { _ = f.Close() }() // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

func memory() string {
	var kib int64
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d kB", &kib); err != nil {
		return unknown
	}
	return fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
}
