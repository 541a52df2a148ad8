// Package pagetest tests the page of a frontend (internal/webpage) in a real Chromium, which only the
// laboratory's module depends on: made-up clusters of any size, and real daemons.
package pagetest
