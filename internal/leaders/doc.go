// Package leaders lets frontends and node monitors call the master of a group that has standbys:
// several addresses; at one of them a master leads (docs/adr/0030-standby-masters.md).
//
//	hello, snapshot ──▶ the address that answered last
//	                      │ no answer, or a standby
//	                      ▼
//	                    the others, the one first that the standby names as its leader
//	                      │ one leads            │ none
//	                      ▼                      ▼
//	                    it is the address        an error; the caller tries again after a pause
//
// All other calls go to the address that answered last, without a search: a hello or a
// snapshot finds the leader soon. A group with one address is called as any peer.
package leaders
