// Package protocol has the rules of membership as pure code: which process of a name counts, which
// membership is newer, which peers are lost, which number a worker has. Nothing here reads a
// clock, starts a goroutine or opens a socket; time comes in as an argument. Package membership
// puts the goroutines around it.
//
//	master                                        node or frontend
//	Registry   registered processes        ◀─hello── Registration, Contact   is the master there?
//	Numbers    worker ⇄ number                      Epoch                   highest seen
//	Publication, Pace   what is published ──list──▶ Follower   is this list newer?
//	                                                Sessions   may this process be listened to?
//
// A session is one process of a daemon's name, known by its incarnation:
//
//	unknown ──Enter──▶ current ──Enter of another process──▶ superseded
//	   ▲                  │
//	   └──Retain without──┘ (after its patience)
//
// These properties hold whatever messages are lost, repeated, late or out of order, and
// whatever daemons restart:
//
//   - no two slots that are alive have one number, and a slot keeps its number;
//   - a superseded process is never taken for the current one, unless it is entered again;
//   - a follower never goes back, neither to a lower version nor to an earlier master, and
//     is never stuck with one;
//   - a process that keeps saying hello is on the next membership and, once memberships
//     arrive again, current with every follower.
package protocol
