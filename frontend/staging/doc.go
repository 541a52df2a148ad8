// Package staging keeps the files that are sent with the jobs of a frontend, by their hashes:
// from their arrival until no unfinished job needs them.
//
//	announced ──pieces──▶ arrived ──Hold, at a submission──▶ held by jobs
//	    │                   │  ▲                                 │
//	    └──unused for ten──▶│  └────────Release, at its end──────┘
//	       minutes          ▼
//	                     removed
//
// Who submits a job must have sent its files, or have an unfinished job that has them: the hash
// of somebody's file is no way to its content. What several users have sent is kept once.
//
// Beside a replicated journal a job is accepted when its files are in the replica, too ([Replica]).
// A process that has taken the frontend over on another machine fetches them from there when nodes
// ask for them.
package staging
