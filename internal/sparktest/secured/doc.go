// Package secured runs Spark on a cluster whose daemons call each other by TLS: applications prove
// by a token whose they are, with 'pigeon spark' and with Spark's own spark-submit.
package secured
