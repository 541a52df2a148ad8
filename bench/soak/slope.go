package soak

import "slices"

// Point is one value of a measure.
type Point struct {
	Tasks float64 // ended so far, in millions
	Value float64
}

// Slope returns the median of the slopes between all pairs of points, per million tasks; 0
// for fewer than two points.
func Slope(points []Point) float64 {
	var slopes []float64
	for i, a := range points {
		for _, b := range points[i+1:] {
			if b.Tasks > a.Tasks {
				slopes = append(slopes, (b.Value-a.Value)/(b.Tasks-a.Tasks))
			}
		}
	}
	return median(slopes)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	m := len(values) / 2
	if len(values)%2 == 1 {
		return values[m]
	}
	return (values[m-1] + values[m]) / 2
}

// secondHalf returns the points after half of the tasks.
func secondHalf(points []Point) []Point {
	if len(points) == 0 {
		return nil
	}
	half := points[len(points)-1].Tasks / 2
	i := slices.IndexFunc(points, func(p Point) bool { return p.Tasks >= half })
	return points[i:]
}
