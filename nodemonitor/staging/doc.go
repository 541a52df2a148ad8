// Package staging brings the files that were sent with jobs to a node: from the frontend of the
// job into a folder by hash, once for all attempts, and from there, as copies, into the working
// folder of an attempt.
package staging
