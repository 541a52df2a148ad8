package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// writer is any figure.
type writer interface{ WriteFiles(base string) error }

// completions are times of the two classes on some number of workers.
func completions(t *testing.T, workers int) (short, long []float64) {
	t.Helper()
	w, err := workload.Open("gen:ec2,jobs=2000,workers=60,load=1.3")
	if err != nil {
		t.Fatal(err)
	}
	w = w.Classify(1e9)
	for i, took := range measure.Clairvoyant(w, workers) {
		if w.Jobs[i].TrueLong {
			long = append(long, float64(took)/1e9)
		} else {
			short = append(short, float64(took)/1e9)
		}
	}
	return short, long
}

func cdfFigure(t *testing.T) CDF {
	f := CDF{
		Title: "Completion times, clairvoyant, generated ec2 load", XLabel: "completion time (s)",
		Panels: []CDFPanel{{Title: "short jobs"}, {Title: "long jobs"}},
	}
	for _, workers := range []int{60, 90, 105, 120} {
		short, long := completions(t, workers)
		name := strconv.Itoa(workers) + " workers"
		f.Panels[0].Curves = append(f.Panels[0].Curves, Curve{Name: name, Values: short})
		f.Panels[1].Curves = append(f.Panels[1].Curves, Curve{Name: name, Values: long})
	}
	return f
}

func barsFigure() Bars {
	f := Bars{
		Title:     "Percentiles relative to pigeon, ngo traces",
		Runs:      []string{"pigeon", "sparrow", "eagle", "hawk", "peacock", "kairos", "fifo", "priority", "pigeon-x"},
		Reference: 0,
		Panels:    []BarPanel{{Title: "short jobs"}, {Title: "long jobs"}},
	}
	for i := range f.Panels {
		for k, load := range []string{"load 50 %", "load 70 %", "load 90 %"} {
			g := Group{Label: load}
			for n, p := range []string{"p50", "p90", "p99"} {
				grow := math.Pow(float64(k+1), float64(3-2*i))
				g.Clusters = append(g.Clusters, Cluster{p, []float64{
					0.48, 0.5 + 3*grow/float64(n+1), 0.5 + 0.1*grow, 0.55 + 0.3*grow, 0.6, 0.7, 0.5 + 2*grow, 0.47, 0.48 / (1 + 0.2*grow),
				}})
			}
			f.Panels[i].Groups = append(f.Panels[i].Groups, g)
		}
	}
	return f
}

func seriesFigure() Series {
	f := Series{Title: "Utilization", Panels: []SeriesPanel{{YLabel: "busy workers"}}}
	for r, name := range []string{"pigeon", "sparrow"} {
		l := Line{Name: name}
		for s := range 300 {
			l.Times = append(l.Times, float64(s))
			l.Values = append(l.Values, math.Round(90+25*math.Sin(float64(s)/(20+float64(r)*7))))
		}
		f.Panels[0].Lines = append(f.Panels[0].Lines, l)
	}
	return f
}

func oneLine(l Line) Series { return Series{Panels: []SeriesPanel{{Lines: []Line{l}}}} }

// References are grey in every kind of figure, and take no colour from the runs.
func TestReferencesAreGrey(t *testing.T) {
	values := []float64{1, 2, 3}
	for name, figure := range map[string]writer{
		"cdf": CDF{Panels: []CDFPanel{{"p", []Curve{{Name: "b", Values: []float64{1, 1.5, 2}, Reference: true}, {Name: "a", Values: values}}}}},
		"bars": Bars{Runs: []string{"a", "b"}, References: 1,
			Panels: []BarPanel{{"short", []Group{{"load", []Cluster{{"p50", []float64{2, 1}}}}}}}},
		"series": Series{Panels: []SeriesPanel{{Lines: []Line{
			{Name: "b", Times: values, Values: values, Kind: Straight, Reference: true},
			{Name: "a", Times: values, Values: []float64{3, 1, 3}, Kind: Straight},
			{Name: "a, simulated", Times: values, Values: []float64{2, 2, 2}, Kind: Marks, Of: "a"}}}}},
	} {
		base := filepath.Join(folder(t), name)
		if err := figure.WriteFiles(base); err != nil {
			t.Fatal(err)
		}
		colors := colorsOf(t, base+".png")
		if !colors[color.RGBA(runColor(0))] || !colors[color.RGBA(referenceColor(0))] || colors[color.RGBA(runColor(1))] {
			t.Errorf("%s: the run is blue %v, the reference grey %v, something vermilion %v",
				name, colors[color.RGBA(runColor(0))], colors[color.RGBA(referenceColor(0))], colors[color.RGBA(runColor(1))])
		}
	}
}

// Set PIGEON_FIGURES to a folder to keep the figures and look at them.
func folder(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("PIGEON_FIGURES"); dir != "" {
		return dir
	}
	return t.TempDir()
}

func TestFiguresAreWellFormedAndLabelled(t *testing.T) {
	dir := folder(t)
	for _, tt := range []struct {
		name   string
		figure writer
		texts  []string
		runs   int
	}{
		{"cdf", cdfFigure(t), []string{"completion time (s)", "share of jobs", "short jobs", "long jobs", "60 workers", "120 workers"}, 4},
		{"bars", barsFigure(), []string{"short jobs: time relative to pigeon", "p99", "load 90 %", "kairos", "long jobs: time relative to pigeon"}, 9},
		{"series", seriesFigure(), []string{"time (s)", "busy workers", "Utilization", "sparrow"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := filepath.Join(dir, tt.name)
			if err := tt.figure.WriteFiles(base); err != nil {
				t.Fatal(err)
			}
			svg, err := os.ReadFile(base + ".svg")
			if err != nil {
				t.Fatal(err)
			}
			text := textOf(t, svg)
			for _, want := range tt.texts {
				if !strings.Contains(text, want) {
					t.Errorf("the SVG lacks %q", want)
				}
			}
			colors := colorsOf(t, base+".png")
			for i := range tt.runs {
				if c := runColor(i); !colors[color.RGBA(c)] {
					t.Errorf("the PNG lacks the colour of run %d, %v", i, c)
				}
			}
		})
	}
}

// textOf parses an SVG and joins its texts.
func textOf(t *testing.T, svg []byte) string {
	t.Helper()
	var text strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatalf("the SVG is not XML: %v", err)
		}
		if chars, ok := token.(xml.CharData); ok {
			text.Write(chars)
		}
	}
}

func colorsOf(t *testing.T, path string) map[color.RGBA]bool {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	img, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	colors, b := map[color.RGBA]bool{}, img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			colors[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)] = true
		}
	}
	return colors
}

func TestFiguresThatCannotBeDrawn(t *testing.T) {
	twoRuns := func(reference int, values ...float64) Bars {
		return Bars{Runs: []string{"a", "b"}, Reference: reference,
			Panels: []BarPanel{{"short", []Group{{"load", []Cluster{{"p50", values}}}}}}}
	}
	for name, tt := range map[string]struct {
		figure writer
		want   string
	}{
		"no panels":        {CDF{}, "0 panels"},
		"too many panels":  {CDF{Panels: repeat(CDFPanel{"p", []Curve{{Name: "a", Values: []float64{1}}}}, MaxPanels+1)}, "1 to 8"},
		"no values":        {CDF{Panels: []CDFPanel{{Title: "empty"}}}, `"empty" has no value above 0`},
		"NaN":              {CDF{Panels: []CDFPanel{{"p", []Curve{{Name: "a", Values: []float64{1, math.NaN()}}}}}}, "not finite"},
		"no bars":          {Bars{Runs: []string{"a"}, Panels: []BarPanel{{Title: "p"}}}, "no bar"},
		"values missing":   {twoRuns(0, 1), "1 values for 2 runs"},
		"no reference":     {twoRuns(2, 1, 2), "reference 2"},
		"reference of 0":   {twoRuns(0, 0, 2), "no reference above 0"},
		"reference of NaN": {twoRuns(1, 1, math.NaN()), "no reference above 0"},
		"no lines":         {Series{}, "0 panels"},
		"empty panel":      {Series{Panels: []SeriesPanel{{Title: "p"}}}, `"p" has no line`},
		"uneven line":      {oneLine(Line{Name: "a", Times: []float64{1}}), "1 times and 0 values"},
		"back in time":     {oneLine(Line{Name: "a", Times: []float64{2, 1}, Values: []float64{1, 1}}), "goes back in time"},
		"infinite":         {oneLine(Line{Name: "a", Times: []float64{1}, Values: []float64{math.Inf(1)}}), "not finite"},
	} {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "figure")
			err := tt.figure.WriteFiles(base)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("WriteFiles = %v, want %q in it", err, tt.want)
			}
			if files, _ := filepath.Glob(base + "*"); len(files) > 0 {
				t.Errorf("it wrote %v", files)
			}
		})
	}
	if err := seriesFigure().WriteFiles(filepath.Join(t.TempDir(), "no", "such", "folder")); err == nil ||
		!strings.Contains(err.Error(), "name a folder that exists") {
		t.Errorf("into a missing folder: %v", err)
	}
}

func repeat[T any](x T, n int) (xs []T) {
	for range n {
		xs = append(xs, x)
	}
	return xs
}

func TestFiguresOfOneValue(t *testing.T) {
	for name, figure := range map[string]writer{
		"cdf":    CDF{Panels: []CDFPanel{{"p", []Curve{{Name: "a", Values: []float64{2, 2}}, {Name: "none"}}}}},
		"zeros":  CDF{Panels: []CDFPanel{{"p", []Curve{{Name: "a", Values: []float64{0, 0, 3}}}}}},
		"bars":   Bars{Runs: []string{"a", "b"}, Panels: []BarPanel{{"p", []Group{{"l", []Cluster{{"p50", []float64{1, math.NaN()}}}}}}}},
		"series": oneLine(Line{Name: "a", Times: []float64{0}, Values: []float64{0}}),
	} {
		if err := figure.WriteFiles(filepath.Join(t.TempDir(), name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The curve that is drawn keeps the ends and stays within a step of the sample.
func TestStepsAreTheSample(t *testing.T) {
	values := make([]float64, 0, 5000)
	for i := range 5000 {
		values = append(values, float64((i*2777)%5000+1)) // 1 to 5000 in some order
	}
	points := steps(values, 1)
	if len(points) != 2*maxSteps || points[0].Y != 0 || points[len(points)-1].X != 5000 || points[len(points)-1].Y != 1 {
		t.Fatalf("%d points from %v to %v", len(points), points[0], points[len(points)-1])
	}
	for _, p := range points {
		if d := math.Abs(p.Y - p.X/5000); d > 1.0/maxSteps+1.0/5000 {
			t.Fatalf("at %g the curve is at %g, the sample at %g", p.X, p.Y, p.X/5000)
		}
	}
}

// A line of many points keeps the area below it.
func TestLongLinesKeepTheirMean(t *testing.T) {
	l := Line{Name: "a"}
	area := 0.0
	for i := range 50_000 {
		at := float64(i) + 0.4*math.Sin(float64(i))
		l.Times, l.Values = append(l.Times, at), append(l.Values, float64(i%7))
		if i > 0 {
			area += l.Values[i-1] * (at - l.Times[i-1])
		}
	}
	points := l.points()
	if len(points) != maxPoints {
		t.Fatalf("%d points, want %d", len(points), maxPoints)
	}
	got := 0.0
	for _, p := range points {
		got += p.Y * (l.Times[49_999] - l.Times[0]) / maxPoints
	}
	if math.Abs(got-area) > 1e-6*area {
		t.Errorf("the area below the line is %.3f, want %.3f", got, area)
	}
}

func TestNiceTicks(t *testing.T) {
	for _, tt := range []struct {
		lo, hi float64
		want   string
	}{
		{0, 299, "0 50 100 150 200 250"},
		{0, 1.2, "0.0 0.2 0.4 0.6 0.8 1.0 1.2"},
		{0, 120, "0 20 40 60 80 100 120"},
		{1000, 90000, "20000 40000 60000 80000"},
	} {
		var labels []string
		for _, tick := range (niceTicks{}).Ticks(tt.lo, tt.hi) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("labels of %g..%g: %s, want %s", tt.lo, tt.hi, got, tt.want)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, tt := range []struct {
		lo, hi float64
		want   string
	}{
		{0.03, 40, "0.1 1 10"},
		{0.15, 3, "0.2 0.5 1 2"},
		{80, 1200, "100 200 500 1000"},
		{0.001, 0.01, "0.001 0.002 0.005 0.01"},
	} {
		var labels []string
		for _, tick := range (logTicks{}).Ticks(tt.lo, tt.hi) {
			if tick.Value < tt.lo*0.999 || tick.Value > tt.hi*1.001 {
				t.Errorf("tick %g is outside %g..%g", tick.Value, tt.lo, tt.hi)
			}
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("labels of %g..%g: %s, want %s", tt.lo, tt.hi, got, tt.want)
		}
	}
}
