// Command peers runs programs through a job queue, for "pigeon-bench reuther" to measure:
// asynq, which keeps its queue in Redis, and River, which keeps it in PostgreSQL. It is a
// separate module, because nothing of it is in Pigeon.
//
//	peers asynq --socket FILE --slots N      FILE: the socket of its own Redis
//	peers river --socket FOLDER --slots N    FOLDER: the folder of PostgreSQL's socket
//
// The caller starts and stops the database. This program writes one JSON object a line on
// its standard output: first its version and configuration, {"about": ..., "configuration":
// ...}, then an answer to each line that it reads. A line is a set of programs, with their
// arguments:
//
//	{"programs": [["sleep", "1"], ["sleep", "1"]]}
//
// They are put into the queue, and N workers, which wait for them from the beginning on, take
// and start them. When the queue knows that the last has ended the answer is {"error": ""}, or
// says what failed. It ends with its input.
package main
