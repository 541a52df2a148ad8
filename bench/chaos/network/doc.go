// Package network makes hosts on this machine that are joined by a switch in this program,
// which can lose, delay and repeat packets between any two of them, in either direction.
//
//	process in namespace 1 ── tun ──┐
//	process in namespace 2 ── tun ──┼── switch (this program): a [Rule] for each pair
//	this program ──────────── tun ──┘
//
// Each host is a network namespace with one interface (a tun device), whose other end this
// program reads and writes. Nothing is left when the program ends: a namespace lives as long
// as a process or an open file is in it.
//
// [Enter] starts the program again in its own network namespace, where it may do all this
// without touching the machine's network: as root, or in a user namespace where the
// machine allows those. [New] works only there.
package network
