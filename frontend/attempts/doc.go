// Package attempts keeps where, when and how the attempts at the tasks of a frontend's jobs ran: for
// 'pigeon explain', and for the ways to their outputs and files.
//
// It observes the records of jobs. Of each task it has the attempt whose result was accepted, or that was
// stopped with its job, and of each job the last attempts that others followed. A bounded part of
// that is written with the end of the job, so that a later process of the frontend shows the same.
package attempts
