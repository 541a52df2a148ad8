// Package failover measures how long a cluster of real processes makes no progress when a
// machine dies, hangs or is cut off.
//
//	clients ──jobs of exec tasks──▶ frontend and its standby ─▶ masters and standbys ─▶ nodes
//	                                       └── three NATS servers ──┘              tasks write lines
//	[Run]      SIGKILL, SIGSTOP, a cut or a removed folder at an instant; the next line ends the pause
//	           (without standbys and with one NATS server where a restart is measured)
//
// A pause is the longest time between two starts of tasks that begins at most a second after
// the instant; it is counted from the instant on. Tasks read the clock that all processes of
// a machine share.
package failover
