// Package metricsdoc holds docs/metrics.md to the metrics that the daemons
// register: its test fails when the page differs from them, and "make metrics"
// writes the page again. It has no code outside its test, so it may know all
// daemons without being imported by any.
package metricsdoc
