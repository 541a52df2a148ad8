// Package archtest holds the tests that keep the shape of the repository: which
// package may import which, and what a pure package may not contain. There is
// nothing to import here.
//
//	cmd                                                               layer 8
//	bench  sparkplugin/sparktest                                      layer 7
//	cluster                                                           layer 6
//	frontend  master  nodemonitor                                     layer 5
//	thrift  packaging  internal/runloop, link, config and the rest    layer 4
//	internal/policy                                                   layer 3
//	internal/queue, ledger, classes, shares                           layer 2
//	internal/membership/protocol  internal/leadership/protocol        layer 2
//	internal/sched  internal/nearest                                  layer 1
//
// A package imports its own layer or lower ones. Layers 1 to 3 are pure: the
// simulator measures the code that runs in production only as long as a decision
// cannot see a clock, a socket or its own random source.
//
// The tests of imports look at code that ships. Test files may reach further: a test of a
// policy may run it in the simulator, a test of a daemon may speak the published
// protocol as an application does.
//
// Further tests compare texts with what they are about:
//
//	words        names of packages, files and exported types with docs/glossary.md
//	parts        the comments of daemons, and docs/architecture.md, with their packages and functions
//	quotations   what comments quote from a page of docs/ with that page
//	citations    pages, sections, headings, paths, tests and targets of make that texts name with those there are
//	decisions    the index of decisions, their form and length, and what they change of each other, with docs/adr
//	warnings     the tables of warnings and errors in docs/operations.md with what daemons log
//	messages     the messages that pages say what to do about with the sources
package archtest
