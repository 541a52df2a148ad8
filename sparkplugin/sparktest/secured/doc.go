// Package secured runs Spark on a cluster whose daemons call each other by TLS: applications prove
// their user by a token, with 'pigeon spark' and with Spark's own spark-submit.
package secured
