// Package owners has the settings of owners: what each is entitled to at masters (shares),
// and what it may have unfinished at a frontend (quotas). They are in the configuration of
// the daemons or in one file for all of them, and are read again while a daemon runs.
package owners
