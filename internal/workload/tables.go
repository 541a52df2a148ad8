package workload

import "math/rand/v2"

// The yahoo and google models are the ec2 model with tables read off nyh_70 and goog_sub in
// the same way. bench/published/README.md states how far each is from its trace.

// Shares of long jobs of both: yahoo has them in the first part of the jobs alone, as the trace.
const (
	yahooPart  = 0.77
	yahooLong  = 0.13
	googleLong = 0.0905
)

func yahooShort() *ec2Class {
	return &ec2Class{
		single:    0.0502,
		fanout:    quantiles{2, 2, 3, 4, 5, 6, 7, 9, 12, 16, 21, 27, 30, 35, 41, 49, 62, 77, 100},
		mean:      quantiles{.001, .00506, .0114, .02, .0268, .0388, .0549, .0691, .118, .1581, .2318, .3166, .3568, .4053, .5009, .6303, .7476, .8054, .9809},
		meanMany:  quantiles{.001, .011, .0182, .0313, .0433, .0568, .0691, .0828, .1116, .1435, .1966, .2827, .3359, .3939, .4758, .5808, .7295, .8565, .9995},
		variation: quantiles{0, .0958, .15, .19, .216, .243, .269, .291, .348, .399, .449, .504, .534, .565, .6, .648, .711, .783, 1.3},
		residual:  quantiles{-4.22, -1.83, -1.54, -1.27, -1.07, -.909, -.747, -.593, -.313, -.0451, .232, .53, .697, .88, 1.08, 1.34, 1.71, 2.11, 4.24},
	}
}

func yahooLongClass() *ec2Class {
	return &ec2Class{
		single:    0.108,
		fanout:    quantiles{2, 2, 2, 3, 3, 4, 5, 6, 8, 10, 14, 18, 21, 25, 32, 39, 53, 74, 99},
		mean:      quantiles{1.006, 1.045, 1.095, 1.267, 1.333, 1.538, 1.868, 4.24, 5.747, 8.34, 10.1, 13.56, 15.7, 16.76, 22.56, 24.24, 32.61, 40.07, 53.35},
		meanMany:  quantiles{1.001, 1.036, 1.061, 1.105, 1.164, 1.264, 1.402, 1.581, 2.885, 5.94, 10.38, 16.34, 19.6, 23.9, 28.96, 34.62, 41.67, 47.28, 57.2},
		variation: quantiles{.00171, .00983, .015, .0228, .0284, .0337, .0373, .0422, .0531, .0697, .0977, .132, .145, .159, .168, .177, .208, .372, .589},
		residual:  quantiles{-3.57, -1.99, -1.65, -1.32, -1.09, -.898, -.722, -.553, -.256, .0217, .299, .576, .728, .886, 1.06, 1.28, 1.59, 1.95, 3.17},
	}
}

func googleShort() *ec2Class {
	return &ec2Class{
		single:    0.6616,
		fanout:    quantiles{2, 2, 2, 2, 2, 3, 5, 6, 9, 13, 18, 20, 22, 23, 42, 94, 672, 965, 4362},
		mean:      quantiles{11.4, 17.19, 19.76, 23.47, 27.85, 35.93, 50.99, 59.24, 70.43, 89.04, 109.6, 148.5, 180.4, 226.6, 285.4, 382.9, 576.6, 867.9, 1125},
		meanMany:  quantiles{32.15, 51.91, 54.34, 57.09, 60.36, 63.32, 66.95, 70.89, 80.41, 91.29, 107.1, 150.4, 189.3, 225, 271, 371.2, 604, 894, 1128},
		tied:      0.31,
		variation: quantiles{0, 0, .00198, .00449, .00672, .00889, .0115, .0147, .0217, .0332, .0614, .0967, .113, .133, .165, .237, .456, .754, 5.07},
		residual:  quantiles{-23.2, -1.49, -1.08, -.903, -.845, -.773, -.681, -.593, -.419, -.225, -.0208, .328, .564, .762, .967, 1.26, 1.81, 2.5, 44.6},
	}
}

func googleLongClass() *ec2Class {
	return &ec2Class{
		single:    0.7006,
		fanout:    quantiles{2, 2, 2, 4, 5, 7, 9, 10, 18, 39, 72, 92, 132, 183, 368, 810, 1039, 1858, 4950},
		mean:      quantiles{1130, 1162, 1201, 1262, 1316, 1365, 1392, 1436, 1518, 1938, 2252, 2703, 3293, 3987, 5354, 8530, 14350, 25290, 326100},
		meanMany:  quantiles{1130, 1148, 1182, 1212, 1268, 1317, 1359, 1383, 1474, 1870, 2317, 3100, 3686, 4703, 7071, 12380, 19750, 40670, 103600},
		tied:      0.23,
		variation: quantiles{0, .000198, .000726, .00145, .00214, .00278, .00357, .00456, .00944, .0198, .037, .0681, .0942, .127, .182, .249, .387, .558, 2.1},
		residual:  quantiles{-26.6, -1.9, -1.33, -.882, -.679, -.515, -.373, -.255, -.102, .0333, .139, .305, .378, .499, .653, .937, 1.45, 2.14, 8.74},
	}
}

func yahooBody(*spec) bodyFunc {
	grid, short, long := ec2Grid(), yahooShort(), yahooLongClass()
	return func(r *rand.Rand, i, n int) []int64 {
		if float64(i) < yahooPart*float64(n) && r.Float64() < yahooLong {
			return long.job(&grid, r)
		}
		return short.job(&grid, r)
	}
}

func googleBody(*spec) bodyFunc {
	grid, short, long := ec2Grid(), googleShort(), googleLongClass()
	return func(r *rand.Rand, _, _ int) []int64 {
		if r.Float64() < googleLong {
			return long.job(&grid, r)
		}
		return short.job(&grid, r)
	}
}
