// Package metricsdoc holds docs/metrics.md to the metrics that the daemons
// register: its test fails when the page differs from them, and "make metrics"
// writes the page again. A test that starts a cluster holds the page to what its daemons
// export. Other tests hold the alerts and dashboards of deploy/monitoring
// to the same metrics, and docs/alerts.md to the alerts. It has no code outside its
// tests, so it may know all daemons without being imported by any.
package metricsdoc
