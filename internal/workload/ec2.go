package workload

import "math/rand/v2"

// The ec2 model. A job is long with a probability that depends on when it
// comes (burst) or on nothing (steady); long or short, it has one task or
// several; a quantile table has the mean duration, another the fan-out (for
// a share of the jobs at the same quantile: wide jobs are longer); the tasks
// of a job differ by a drawn coefficient of variation times residuals
// from a third table. The tables are read off the ngo traces at the
// probabilities of ec2Grid and interpolated linearly.

// Shares of long jobs: over all, and in burst for the first part of the jobs
// and for the rest.
const (
	ec2Long      = 0.1012
	ec2BurstPart = 0.174
	ec2BurstLong = 0.5758
	ec2LaterLong = 0.0012
)

// ec2Floor keeps a task at a share of its job's mean or above.
const ec2Floor = 0.01

// ec2Points is the number of entries of a quantile table.
const ec2Points = 19

type quantiles [ec2Points]float64

// ec2Grid returns the probabilities that the tables' entries belong to.
func ec2Grid() quantiles {
	return quantiles{0, .02, .05, .1, .15, .2, .25, .3, .4, .5, .6, .7, .75, .8, .85, .9, .95, .98, 1}
}

// ec2Class is the model of one class; durations in seconds.
type ec2Class struct {
	single    float64   // share of jobs that have one task
	fanout    quantiles // of jobs of several tasks
	mean      quantiles // mean task duration, jobs of one task
	meanMany  quantiles // the same, jobs of several tasks
	tied      float64   // share of these whose mean has the quantile of their fan-out
	variation quantiles // deviation over mean within a job
	residual  quantiles // (duration - mean) / deviation within a job
}

func ec2Short() *ec2Class {
	return &ec2Class{
		single:    0.935,
		fanout:    quantiles{2, 2, 2, 2, 2, 2, 3, 3, 4, 6, 7, 9, 9, 12, 13.3, 22.9, 46.2, 68.4, 98},
		mean:      quantiles{.1279, .1614, .1815, .2068, .225, .2381, .2509, .2614, .285, .3138, .3615, .4468, .5046, .5829, .6638, .7701, .8728, .9594, .9996},
		meanMany:  quantiles{.2512, .284, .3306, .4876, .5662, .615, .6488, .6713, .7248, .7703, .8186, .8521, .8703, .891, .9198, .9469, .9668, .9811, .9939},
		tied:      0.37,
		variation: quantiles{0, 0, .00428, .00548, .00774, .0113, .0134, .0166, .0235, .0323, .0422, .0624, .0815, .116, .169, .238, .316, .361, .573},
		residual:  quantiles{-3.13, -1.68, -1.39, -1.08, -.991, -.852, -.719, -.623, -.391, -.164, .097, .5, .707, .945, 1.03, 1.29, 1.65, 2.22, 6.46},
	}
}

func ec2LongClass() *ec2Class {
	return &ec2Class{
		single:    0.7292,
		fanout:    quantiles{2, 2, 2, 2.6, 4, 5, 7, 8, 9, 10, 12, 17.6, 26, 30.8, 32.6, 42.8, 57, 93.6, 97},
		mean:      quantiles{1.004, 1.022, 1.081, 1.18, 1.318, 1.591, 1.793, 2.113, 2.887, 3.893, 5.902, 7.163, 9.155, 13.36, 20.81, 27.69, 58.79, 89.16, 98.21},
		meanMany:  quantiles{1.013, 1.057, 1.146, 1.293, 1.51, 1.766, 1.919, 2.027, 2.358, 2.891, 4.312, 6.777, 9.434, 14.24, 17.92, 21.69, 33.2, 74.29, 88.32},
		tied:      0.12,
		variation: quantiles{0, 0, .0015, .00503, .00795, .0145, .017, .0244, .0399, .0641, .113, .187, .247, .321, .401, .495, .635, 1.08, 1.81},
		residual:  quantiles{-9.06, -1.61, -1.31, -1.08, -.927, -.805, -.67, -.523, -.342, -.0478, .151, .399, .563, .771, 1, 1.28, 1.66, 2.2, 4.01},
	}
}

// at interpolates the table at probability u.
func (q *quantiles) at(grid *quantiles, u float64) float64 {
	k := 1
	for k < ec2Points-1 && u >= grid[k] {
		k++
	}
	share := (u - grid[k-1]) / (grid[k] - grid[k-1])
	return q[k-1] + float64(share*(q[k]-q[k-1]))
}

func ec2Body(s *spec) bodyFunc {
	burst := s.flag("burst")
	grid, short, long := ec2Grid(), ec2Short(), ec2LongClass()
	return func(r *rand.Rand, i, n int) []int64 {
		share := ec2Long
		if burst {
			share = ec2LaterLong
			if float64(i) < ec2BurstPart*float64(n) {
				share = ec2BurstLong
			}
		}
		if r.Float64() < share {
			return long.job(&grid, r)
		}
		return short.job(&grid, r)
	}
}

func (c *ec2Class) job(grid *quantiles, r *rand.Rand) []int64 {
	if r.Float64() < c.single {
		return []int64{nanos(c.mean.at(grid, r.Float64()) * 1e9)}
	}
	width, length := r.Float64(), r.Float64()
	if r.Float64() < c.tied {
		length = width
	}
	count := int(c.fanout.at(grid, width) + 0.5)
	mean := c.meanMany.at(grid, length)
	variation := c.variation.at(grid, r.Float64())
	factors, sum := make([]float64, count), 0.0
	for k := range factors {
		factors[k] = max(ec2Floor, 1+float64(variation*c.residual.at(grid, r.Float64())))
		sum += factors[k]
	}
	// The factors are scaled to mean 1, so that the job keeps the mean drawn
	// for it, and with it its class.
	unit := mean * 1e9 * float64(count) / sum
	durations := make([]int64, count)
	for k := range durations {
		durations[k] = nanos(factors[k] * unit)
	}
	return durations
}
