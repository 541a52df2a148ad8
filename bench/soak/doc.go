// Package soak runs very many short tasks through a cluster of real processes whose nodes
// come and go under many names, and decides whether its daemons keep growing.
//
//	tasks ──▶ frontends ─▶ masters ─▶ nodes that stay, nodes that come and go (seed)
//	              │            │        │
//	              └── /metrics, every two seconds ──▶ samples ─▶ slopes ─▶ verdicts
//
// The memory that a daemon keeps after a garbage collection is half of the size at which
// the next one begins (go_memstats_next_gc_bytes, with the collector's default settings);
// unlike resident memory it neither rises nor falls between two collections. The NATS
// server has no such page; its resident memory is measured.
//
// The slope is that of Theil and Sen (P. K. Sen, "Estimates of the regression coefficient
// based on Kendall's tau", JASA 63, 1968): the median of the slopes between all pairs of
// samples, so that a few outliers do not count. It is taken over the second half of the
// run, by the number of ended tasks; tables of bounded size are full by then.
package soak
