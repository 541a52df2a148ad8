// Package lookup compares the hosts of addresses: names are looked up, because the same host may be named in
// several ways. It decides by that which addresses a caller may have a daemon connect to.
package lookup
