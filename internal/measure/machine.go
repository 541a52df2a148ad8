package measure

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is where a measurement was made.
type Machine struct {
	Processor  string `json:"processor"`  // its model, "unknown" where the system does not report it
	Processors int    `json:"processors"` // how many
	Memory     string `json:"memory"`     // in all, with its unit
	Platform   string `json:"platform"`   // operating system and architecture
	Go         string `json:"go"`         // version of Go that the program was built with
}

// ThisMachine returns the machine of this process.
func ThisMachine() Machine {
	return Machine{
		Processor: procField("/proc/cpuinfo", "model name"), Processors: runtime.NumCPU(),
		Memory: memory(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
}

// String returns one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d processors, %s of memory, %s, %s", m.Processor, m.Processors, m.Memory, m.Platform, m.Go)
}

// Kernel returns the version of the operating system.
func Kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS // another system
	}
	return runtime.GOOS + " " + strings.TrimSpace(string(text))
}

// LoadAverage returns that of the last minute, 0 where the system does not report it.
func LoadAverage() Number {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseFloat(first, 64) // 0 if it is none
	return Number(n)
}

const unknown = "unknown"

// procField returns the value of the first "key: value" in a file of /proc.
func procField(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return unknown // another system
	}
	defer func() { _ = f.Close() }() // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

func memory() string {
	var kib int64
	if _, err := fmt.Sscanf(procField("/proc/meminfo", "MemTotal"), "%d kB", &kib); err != nil {
		return unknown
	}
	return fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
}
