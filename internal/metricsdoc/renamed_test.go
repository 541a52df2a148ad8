package metricsdoc

// renamed lists the metrics that had another name before, old name first.
var renamed = []struct{ Old, New string }{
	{"pigeon_frontend_attempts_again_total{why}", "pigeon_frontend_attempts_again_total{reason}"},
	{"pigeon_frontend_garbled_notices_total", "pigeon_frontend_notices_unread_total"},
	{"pigeon_frontend_messages_delivered_total", `pigeon_frontend_messages_ended_total{fate="delivered"}`},
	{"pigeon_frontend_messages_lost_total", `pigeon_frontend_messages_ended_total{fate="dropped"}`},
	{"pigeon_master_queued_tasks_short", `pigeon_master_queued_tasks{class="short"}`},
	{"pigeon_master_queued_tasks_long", `pigeon_master_queued_tasks{class="long"}`},
	{"pigeon_master_oldest_wait_seconds_short", `pigeon_master_oldest_wait_seconds{class="short"}`},
	{"pigeon_master_oldest_wait_seconds_long", `pigeon_master_oldest_wait_seconds{class="long"}`},
	{"pigeon_master_idle_workers_general", `pigeon_master_idle_workers{kind="general"}`},
	{"pigeon_master_idle_workers_reserved", `pigeon_master_idle_workers{kind="reserved"}`},
	{"pigeon_master_busy_workers_general", `pigeon_master_busy_workers{kind="general"}`},
	{"pigeon_master_busy_workers_reserved", `pigeon_master_busy_workers{kind="reserved"}`},
	{"pigeon_master_neighbours", "pigeon_master_siblings"},
	{"pigeon_nodemonitor_workers_general{state}", `pigeon_nodemonitor_workers{kind="general",state}`},
	{"pigeon_nodemonitor_workers_reserved{state}", `pigeon_nodemonitor_workers{kind="reserved",state}`},
	{"pigeon_nodemonitor_reports_sent_total", `pigeon_nodemonitor_reports_sent_total{sending="first"}`},
	{"pigeon_nodemonitor_reports_repeated_total", `pigeon_nodemonitor_reports_sent_total{sending="repeated"}`},
	{"pigeon_nodemonitor_messages_of_replaced_total", "pigeon_nodemonitor_batches_superseded_total"},
	{"pigeon_nodemonitor_questions_repeated_total", "pigeon_nodemonitor_requests_repeated_total"},
	{"pigeon_nodemonitor_grants_used_total", `pigeon_nodemonitor_grants_ended_total{how="used"}`},
	{"pigeon_nodemonitor_grants_declined_total", `pigeon_nodemonitor_grants_ended_total{how="declined"}`},
	{"pigeon_nodemonitor_grants_unfit_total", `pigeon_nodemonitor_grants_ended_total{how="unfit"}`},
	{"pigeon_nodemonitor_grants_lost_total", `pigeon_nodemonitor_grants_ended_total{how="lost"}`},
	{"pigeon_nodemonitor_grants_failed_total", `pigeon_nodemonitor_grants_ended_total{how="failed"}`},
}
