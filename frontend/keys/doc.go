// Package keys makes an idempotency key the same job at every frontend of a cluster: a bucket
// in JetStream maps the key to its home, the one frontend that may accept a job under it.
//
//	submit ──▶ Take ──it has no home───────▶ this frontend is its home ──▶ accept
//	             │
//	             └──another one has it──▶ that one is asked ──it knows the job──▶ refused, with its address
//	                                              ├─does not answer────▶ refused until later
//	                                              └─does not know it───▶ taken over
//
// A frontend that would refuse the job asks for the home without a Take: records of keys stay
// until they lapse, and those of refused jobs would fill the bucket.
//
// A home is written before the job is accepted, so a frontend that ended between the two leaves
// a key without a job. The next frontend that receives a job under it takes it over, which
// cannot coincide with an acceptance: a frontend accepts only after its own write has succeeded,
// each write states the revision that it replaces, and from before that write until the
// acceptance is known a frontend answers that it is accepting the key.
//
// Keys lapse. The home renews those of unfinished jobs, and a last time when a job has ended, so
// that they are kept for as long as ended jobs are.
package keys
