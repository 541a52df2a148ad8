package workload

import (
	"fmt"
	"os"
	"strings"
)

// Open reads a trace file, or makes what a specification gen:NAME[,key=value...]
// asks for (see Generators). The workload's name is spec.
func Open(spec string) (*Workload, error) {
	if rest, ok := strings.CutPrefix(spec, "gen:"); ok {
		return generate(spec, rest)
	}
	file, err := os.Open(spec)
	if err != nil {
		return nil, fmt.Errorf("cannot open the trace: %w; no job was run; give the path of a trace file, or gen:ec2 for a generated one", err)
	}
	defer func() { _ = file.Close() }() // only read
	return Read(file, spec)
}
