package published

import (
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// Trace is a published trace.
type Trace struct {
	Name  string `json:"name"`             // of the file, without .tr
	About string `json:"about"`            // what it holds
	Repo  string `json:"repo,omitempty"`   // repository on GitHub, owner/name; left out where no public file is known
	Path  string `json:"path,omitempty"`   // in the repository
	Ref   string `json:"commit,omitempty"` // of the repository
	From  string `json:"from,omitempty"`   // where it comes from, when there is no repository
	Bytes int64  `json:"bytes"`            // size of the file
	SHA   string `json:"sha256"`           // of the file
	Like  string `json:"like"`             // the generator that resembles it
}

// The prototype's repository, which holds the traces of its EC2 experiments; whose commits are
// those at which the files were seen.
const (
	prototype = "r5by/pigeon"
	folder    = "deploy/ec2/template/new_trace/"
	commitA   = "220968de73a74ebfb9a2503d9267a17211ad0ec9"
	commitB   = "9996dc21122f5b5e852f26c0d180975fea78db3a"
	commitC   = "144705afcf769ad6a8948391c72e36d3b2b01128"
)

// Traces lists the published traces that our comparisons use.
func Traces() []Trace {
	return []Trace{
		{
			Name: "ngo_50", About: "a sample of the Google trace, 5,001 jobs, the paper's EC2 experiment at 50 % of 120 workers",
			Repo: prototype, Path: folder + "pigeon_trace/NGO_trace50", Ref: commitA,
			Bytes: 212_363, SHA: "662d86986db9d9d546b92b5698e5898cf4d144f1e5346e3f0a116d8b2a57a013", Like: "gen:ec2,burst=true,load=0.5",
		},
		{
			Name: "ngo_70", About: "the same at 70 %",
			Repo: prototype, Path: folder + "new_trace_eagle/NGO_trace70", Ref: commitB,
			Bytes: 212_378, SHA: "a610ff3a9148c02a222d9cf75e44f273c033b07eb379526ab2b48e44732562c9", Like: "gen:ec2,burst=true,load=0.7",
		},
		{
			Name: "ngo_90", About: "the same at 90 %",
			Repo: prototype, Path: folder + "new_trace_eagle/NGO_trace90", Ref: commitA,
			Bytes: 212_390, SHA: "9debde251668456eddab6da8478f121868829fbae1a5bc4f51e77a3fe1d6cc73", Like: "gen:ec2,burst=true,load=0.9",
		},
		{
			Name: "nyh_70", About: "a sample of the Yahoo trace, 5,001 jobs, at 70 % of 120 workers",
			Repo: prototype, Path: folder + "pigeon_trace/NYH_trace70", Ref: commitC,
			Bytes: 1_141_452, SHA: "d6a024a0994662af8461e7e53854dcf30b1621945ffedd9277074ad24c41babe", Like: "gen:yahoo,load=0.7",
		},
		{
			Name: "exp_50", About: "exponential durations, 5,000 jobs",
			Repo: prototype, Path: folder + "pigeon_trace/EXP_50_new", Ref: commitA,
			Bytes: 349_076, SHA: "d9bce54a5e7c4b53bf9d1f4f09eb1a2bfafa451b4081f22cfc6598d8326e118c", Like: "gen:exp,load=0.5",
		},
		{
			Name: "goog_sub", About: "10,000 jobs of the Google trace in the form of the Hawk and Eagle simulator",
			From:  "a sample of GOOG.tr, which r5by/eagle-mod, simulation/LOCATION_OF_TRACES.txt, names at dropbox.com/sh/bhk5zxreyplus73; no public file with these bytes is known",
			Bytes: 3_691_519, SHA: "a2c2d3668d8f087b7ed0f0714ca9c1690e3c7087c83911225756df9521d9a222", Like: "gen:google",
		},
	}
}

// Find returns a trace by its name.
func Find(name string) (Trace, error) {
	var names []string
	for _, t := range Traces() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	if meant := nearest.Close(name, names); meant != "" {
		return Trace{}, fmt.Errorf("there is no published trace %q; did you mean %q? There are %s", name, meant, strings.Join(names, ", "))
	}
	return Trace{}, fmt.Errorf("there is no published trace %q. There are %s", name, strings.Join(names, ", "))
}
