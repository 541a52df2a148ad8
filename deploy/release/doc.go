// Command release makes what a release of Pigeon consists of, from one commit: programs, archives,
// deb and rpm packages, container images, completions, a bill of materials for each
// platform, the licences of the programs' modules, and checksums. It needs Go and git, and neither
// root nor Docker.
//
//	release -version 1.2.3 -out out/release     all of it
//	release -licenses                           list the licences, and fail on one that is not allowed
//
// Two runs for one commit with the same version of Go give the same bytes: the commit is built from
// a clone without paths of this machine, every file has the time of the commit and a fixed owner and
// mode, and folders are sorted. docs/adr/0042-releases.md has the reasons.
package main
