package workload

import (
	"fmt"
	"os"
	"strings"
)

// Open reads a trace file, or generates the workload of a specification
// gen:NAME[,key=value...] (see Generators). The workload's name is spec.
func Open(spec string) (*Workload, error) {
	if rest, ok := strings.CutPrefix(spec, "gen:"); ok {
		return generate(spec, rest)
	}
	file, err := os.Open(spec)
	if err != nil {
		return nil, fmt.Errorf("cannot open the trace: %w; no job was run; use the path of a trace file, or gen:ec2 for a generated one", err)
	}
	defer func() { _ = file.Close() }() // only read
	return Read(file, spec)
}
