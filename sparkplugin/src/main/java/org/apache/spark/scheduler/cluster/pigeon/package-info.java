/**
 * Pigeon as a cluster manager of Spark.
 *
 * <pre>
 *   SparkContext ── pigeon://host:port ──▶ PigeonClusterManager (Java: checks the line of Spark first)
 *                                              │ Wiring
 *            ┌─────────────────────────────────┴──────────────────┐
 *   PigeonTaskScheduler                             PigeonSchedulerBackend
 *   (TaskSchedulerImpl: offers only the slots       (CoarseGrainedSchedulerBackend: executors come
 *    for which a grant is held, sends demand)        and go as the daemons report)
 *            │ held grants, levels                          │
 *            └──────────────▶ ApplicationLink ◀─────────────┘   Thrift: register, want, news
 *                                   │
 *   ─────────────── frontend, master, node monitor ───────────────
 *                                   │ starts the process; grants
 *                         PigeonExecutorBackend                  Thrift: attach, await, end
 *                         (CoarseGrainedExecutorBackend: relays grants to the driver over Spark's RPC)
 * </pre>
 *
 * The life of a grant: granted to an executor, relayed to the driver (held), bound to a task by
 * Spark's own scheduler or released at once, kept for the next task while its lease lasts, ended.
 * The executor reports the end to the node monitor, so only the executor can leak a grant; it ends
 * by itself the grants that the driver left unanswered.
 *
 * Failures: when an executor dies, the node ends its grants, and the driver discards them and
 * requests others; when a frontend dies, the link registers with the next one and sends everything
 * again; when the driver dies, executors exit and the lease of the application ends; a lost message
 * does not matter, because demand is absolute and sent again each second.
 *
 * The package is below org.apache.spark because Spark's hooks are visible only there. Code that
 * needs nothing of Spark except its Logging is in org.pigeonsched.spark.
 */
package org.apache.spark.scheduler.cluster.pigeon;
