// Package keys makes an idempotency key the same job at every frontend of a cluster: a bucket
// in JetStream maps the key to its home, the one frontend that may accept a job under it.
//
//	submit ──▶ Take ──it has no home, or this one──▶ written: this frontend is its home ──▶ accept
//	             └────another frontend is its home─▶ refused, with its address
//
// A home stays until its record lapses. So one that ended between the record and the acceptance
// leaves a key under which only it accepts a job, when it is back, or its standby.
//
// A frontend that would refuse the job asks for the home without a Take: records of keys stay
// until they lapse, and those of refused jobs would fill the bucket.
//
// Keys lapse. The home renews those of unfinished jobs, and a last time when a job has ended, so
// that they are kept for as long as ended jobs are.
package keys
