/**
 * Pigeon as a cluster manager of Spark.
 *
 * <pre>
 *   SparkContext ── pigeon://host:port ──▶ PigeonClusterManager (Java: checks the line of Spark first)
 *                                              │ Wiring
 *            ┌─────────────────────────────────┴──────────────────┐
 *   PigeonTaskScheduler                             PigeonSchedulerBackend
 *   (TaskSchedulerImpl: offers only the slots       (CoarseGrainedSchedulerBackend: executors come
 *    for which a grant is held, tells demand)        and go as the daemons say)
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
 * The node monitor is told the end by the executor, which is therefore the only one that can leak
 * it; it ends by itself what the driver left unanswered.
 *
 * What fails: an executor dies (the node ends its grants, the driver forgets them and asks for
 * others); a frontend dies (the link registers with the next one and tells everything again); the
 * driver dies (executors exit, the lease of the application ends); a message is lost (demand is
 * absolute and told again each second).
 *
 * The package lies below org.apache.spark because Spark's hooks are visible only there. What needs
 * nothing of Spark is in org.pigeonsched.spark.
 */
package org.apache.spark.scheduler.cluster.pigeon;
