package tidy

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// retired is a name once visible to users, and its replacement.
type retired struct {
	old, now string
	// but are path prefixes under which the old name has another meaning.
	but []string
	// in are path prefixes under which the old name is retired. An empty list means everywhere.
	in []string
}

// retiredAt reports whether the old name is retired in a file.
func (r *retired) retiredAt(path string) bool {
	begins := func(at string) bool { return strings.HasPrefix(path, at) }
	return !slices.ContainsFunc(r.but, begins) && (len(r.in) == 0 || slices.ContainsFunc(r.in, begins))
}

// TestRetiredNamesAreGone: renamed metrics, settings, flags, commands, variables, routes, headers and JSON members must
// not appear anywhere, so that no page or message refers to a missing name.
func TestRetiredNamesAreGone(t *testing.T) {
	words := make(map[string]*retired)
	for i := range retiredWords {
		words[retiredWords[i].old] = &retiredWords[i]
	}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 || slices.Contains(built, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if path == "test/tidy/retired_test.go" || !slices.Contains(readable, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			for _, r := range retiredIn(line, words) {
				if r.retiredAt(path) {
					t.Errorf("%s:%d: %s is called %s now", path, number, r.old, r.now)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// built are directories with build output or host data, ignored by git.
var built = []string{"bin", "dist", "node_modules", "signalbox-data"}

// readable are the extensions of files with names.
var readable = []string{".go", ".md", ".yaml", ".yml", ".json", ".txt", ".py", ".js", ".env", ".service", ".tpl", ".sh",
	".Dockerfile", ""}

// retiredIn returns the retired names in a line. A name is a whole word; a metric may have the suffix of a histogram,
// and stand behind an escaped line break.
func retiredIn(line string, words map[string]*retired) (found []*retired) {
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
	}) {
		if at := strings.Index(word, "signalbox_"); at > 0 {
			word = word[at:]
		}
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			if base, is := strings.CutSuffix(word, suffix); is && words[base] != nil {
				found = append(found, words[base])
				break
			}
		}
	}
	for i := range retiredPhrases {
		r := &retiredPhrases[i]
		_, rest, is := strings.Cut(line, r.old)
		if is && (rest == "" || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz-", rune(rest[0]))) {
			found = append(found, r)
		}
	}
	return found
}

// TestRetiredNamesAreFound: as whole words, in metrics with their suffixes, and only where the name is retired.
func TestRetiredNamesAreFound(t *testing.T) {
	words := map[string]*retired{"--old": {old: "--old"}, "signalbox_old": {old: "signalbox_old"}}
	for line, want := range map[string]int{
		"serve --old 1": 1, "--older": 0, "--old-age": 0, "`--old`": 1, `x\nsignalbox_old_sum{a="b"} 1`: 1,
		"signalbox_older": 0, "signalbox conform -- x": 1, "signalbox conformance": 0, "signalbox token new": 1,
		"POST /v1/acquire": 1, "/v1/rollout/action": 0, "/v1/rollout/act?x": 1, "/v1/shard/transfer-leader": 0,
	} {
		if found := retiredIn(line, words); len(found) != want {
			t.Errorf("%q has %d retired names, want %d", line, len(found), want)
		}
	}
}

// retiredWords are single-word old names.
var retiredWords = slices.Concat(retiredMetrics, retiredSettings, retiredFlags, retiredWire, retiredKinds,
	retiredIdentifiers, retiredMembers())

// retiredPhrases are multi-word old names: commands and routes.
var retiredPhrases = slices.Concat(retiredCommands, retiredRoutes)

var retiredMetrics = []retired{
	{old: "signalbox_shard_leads", now: "signalbox_shard_is_leader"},
	{old: "signalbox_shard_failures_tolerated", now: "signalbox_shard_failure_tolerance"},
	{old: "signalbox_shard_bytes", now: "signalbox_shard_quota_used_bytes"},
	{old: "signalbox_shard_byte_quota", now: "signalbox_shard_quota_limit_bytes"},
	{old: "signalbox_shard_byte_quota_setting", now: "signalbox_shard_quota_setting_bytes"},
	{old: "signalbox_shard_slow_watches", now: "signalbox_shard_slow_watchers"},
	{old: "signalbox_semaphore_taken", now: "signalbox_semaphore_owned_units"},
	{old: "signalbox_semaphore_owned", now: "signalbox_semaphore_owner_units"},
	{old: "signalbox_request_seconds", now: "signalbox_request_duration_seconds"},
	{old: "signalbox_commit_seconds", now: "signalbox_commit_duration_seconds"},
	{old: "signalbox_apply_seconds", now: "signalbox_apply_duration_seconds"},
	{old: "signalbox_log_sync_seconds", now: "signalbox_wal_fsync_duration_seconds"},
	{old: "signalbox_log_snapshots_saved_total", now: "signalbox_snapshots_saved_total"},
	{old: "signalbox_log_snapshot_saves_failed_total", now: "signalbox_snapshot_save_failures_total"},
	{old: "signalbox_log_snapshots_loaded_total", now: "signalbox_snapshots_loaded_total"},
	{old: "signalbox_log_snapshots_sent_total", now: "signalbox_snapshots_sent_total"},
	{old: "signalbox_log_snapshot_sends_failed_total", now: "signalbox_snapshot_send_failures_total"},
	{old: "signalbox_log_snapshots_received_total", now: "signalbox_snapshots_received_total"},
	{old: "signalbox_disk_low_mark_bytes", now: "signalbox_disk_low_watermark_bytes"},
	{old: "signalbox_memory_high_mark_bytes", now: "signalbox_memory_high_watermark_bytes"},
	{old: "signalbox_memory_refusing_changes", now: "signalbox_memory_writes_rejected"},
	{old: "signalbox_digest_checks_total", now: "signalbox_consistency_checks_total"},
	{old: "signalbox_connections_greeted_total", now: "signalbox_connections_authenticated_total"},
	{old: "signalbox_connections_refused_total", now: "signalbox_connections_rejected_total"},
	{old: "signalbox_connections_cut_total", now: "signalbox_connections_closed_total"},
	{old: "signalbox_pending_bytes", now: "signalbox_output_buffer_bytes"},
	{old: "signalbox_pending_limit_bytes", now: "signalbox_output_buffer_limit_bytes"},
	{old: "signalbox_certificate_expires_seconds", now: "signalbox_certificate_expiration_timestamp_seconds"},
	{old: "signalbox_http_calls", now: "signalbox_http_requests_in_flight"},
	{old: "signalbox_http_streams", now: "signalbox_http_event_streams"},
	{old: "signalbox_http_held_bytes", now: "signalbox_http_in_flight_bytes"},
	{old: "signalbox_http_requests_refused_total", now: "signalbox_http_requests_rejected_total"},
	{old: "signalbox_concerns", now: "signalbox_health_issues"},
	{old: "signalbox_shard_voters_wanted", now: "signalbox_shard_voters_desired"},
	{old: "signalbox_shard_voters_alive", now: "signalbox_shard_voters_live"},
	{old: "signalbox_shard_proof_age_seconds", now: "signalbox_shard_read_barrier_age_seconds"},
	{old: "signalbox_shard_guests", now: "signalbox_shard_remote_sessions"},
	{old: "signalbox_shard_sweep_age_seconds", now: "signalbox_shard_remote_session_check_age_seconds"},
	{old: "signalbox_home_questions_waiting", now: "signalbox_home_shard_requests_pending"},
	{old: "signalbox_home_hosts_unanswering", now: "signalbox_home_shard_unreachable_hosts"},
	{old: "signalbox_shard_time_seconds", now: "signalbox_shard_clock_seconds"},
	{old: "signalbox_shard_beats_total", now: "signalbox_shard_clock_ticks_total"},
	{old: "signalbox_shard_alarms", now: "signalbox_shard_timers"},
	{old: "signalbox_shard_next_alarm_seconds", now: "signalbox_shard_next_timer_seconds"},
	{old: "signalbox_shard_pending", now: "signalbox_shard_background_tasks"},
	{old: "signalbox_shard_shared_batches_total", now: "signalbox_shard_fair_share_batches_total"},
	{old: "signalbox_shard_kind_objects", now: "signalbox_shard_objects_by_kind"},
	{old: "signalbox_shard_objects", now: "signalbox_shard_quota_used_objects"},
	{old: "signalbox_shard_object_quota", now: "signalbox_shard_quota_limit_objects"},
	{old: "signalbox_shard_object_quota_setting", now: "signalbox_shard_quota_setting_objects"},
	{old: "signalbox_node_objects", now: "signalbox_node_quota_used_objects"},
	{old: "signalbox_node_object_quota", now: "signalbox_node_quota_limit_objects"},
	{old: "signalbox_node_bytes", now: "signalbox_node_quota_used_bytes"},
	{old: "signalbox_node_byte_quota", now: "signalbox_node_quota_limit_bytes"},
	{old: "signalbox_shard_fullest_node_ratio", now: "signalbox_shard_max_node_quota_ratio"},
	{old: "signalbox_rollout_still_seconds", now: "signalbox_rollout_stalled_seconds"},
	{old: "signalbox_process_still_seconds", now: "signalbox_process_stalled_seconds"},
	{old: "signalbox_rollout_requests_unlogged_total", now: "signalbox_rollout_noop_requests_total"},
	{old: "signalbox_process_kicks_total", now: "signalbox_process_evictions_total"},
	{old: "signalbox_process_late_total", now: "signalbox_process_reply_timeouts_total"},
	{old: "signalbox_process_longest_seconds", now: "signalbox_process_oldest_state_seconds"},
	{old: "signalbox_process_unread_requests", now: "signalbox_process_unacknowledged_requests"},
	{old: "signalbox_inbox_held_total", now: "signalbox_inbox_backpressure_total"},
	{old: "signalbox_log_snapshot_save_seconds", now: "signalbox_snapshot_save_duration_seconds"},
	{old: "signalbox_log_snapshot_load_seconds", now: "signalbox_snapshot_load_duration_seconds"},
	{old: "signalbox_log_snapshot_bytes", now: "signalbox_snapshot_size_bytes"},
	{old: "signalbox_disk_refusing_changes", now: "signalbox_disk_writes_rejected"},
	{old: "signalbox_disk_refusing_shards", now: "signalbox_disk_rejecting_shards"},
	{old: "signalbox_kept_peers", now: "signalbox_peer_connections"},
	{old: "signalbox_raft_refused_total", now: "signalbox_raft_messages_rejected_total"},
	{old: "signalbox_failed_handshakes_total", now: "signalbox_tls_handshake_failures_total"},
	{old: "signalbox_evicted_handshakes_total", now: "signalbox_tls_handshakes_evicted_total"},
	{old: "signalbox_partial_frame_bytes", now: "signalbox_input_buffer_bytes"},
	{old: "signalbox_partial_frame_limit_bytes", now: "signalbox_input_buffer_limit_bytes"},
	{old: "signalbox_rights_age_seconds", now: "signalbox_access_rules_age_seconds"},
	{old: "signalbox_nodes_changing_timing", now: "signalbox_nodes_updating_config"},
	{old: "signalbox_generation", now: "signalbox_cluster_generation"},
	{old: "signalbox_backup_states_saved_total", now: "signalbox_backup_shards_saved_total"},
	{old: "signalbox_backup_last_bytes", now: "signalbox_backup_last_size_bytes"},
	{old: "signalbox_ydb_sessions_refused_total", now: "signalbox_ydb_sessions_rejected_total"},
	{old: "signalbox_ydb_calls_refused_total", now: "signalbox_ydb_calls_rejected_total"},
	{old: "signalbox_ydb_streams_withheld_total", now: "signalbox_ydb_streams_backpressure_total"},
	{old: "SignalboxClusterConcern", now: "SignalboxHealthIssue"},
	{old: "SignalboxConnectionsCut", now: "SignalboxConnectionsClosed"},
	{old: "SignalboxReplicasShort", now: "SignalboxUnderReplicated"},
	{old: "SignalboxCertificateEnds", now: "SignalboxCertificateExpiring"},
}

var retiredSettings = []retired{
	{old: "--host", now: "--initial-hosts"},
	{old: "--cluster", now: "--cluster-name"},
	{old: "--join-token", now: "--join-token-file"},
	{old: "--client-advertise", now: "--advertise"},
	{old: "--raft-tick", now: "--raft-heartbeat-interval"},
	{old: "--http-ca", now: "--http-peer-ca"},
	{old: "--http-names", now: "--http-allowed-hosts"},
	{old: "--console-actions", now: "--console-anonymous-writes"},
	{old: "--requests-in-flight", now: "--max-requests-in-flight"},
	{old: "--pending-limit", now: "--max-output-buffer"},
	{old: "--partial-limit", now: "--max-input-buffer"},
	{old: "--data-limit", now: "--max-data-size"},
	{old: "--watches", now: "--max-watches"},
	{old: "--watch-memory", now: "--max-watch-memory"},
	{old: "--shard-objects", now: "--shard-quota-objects"},
	{old: "--shard-bytes", now: "--shard-quota-bytes"},
	{old: "SIGNALBOX_HOSTS", now: "SIGNALBOX_INITIAL_HOSTS"},
	{old: "SIGNALBOX_CLUSTER", now: "SIGNALBOX_CLUSTER_NAME"},
	{old: "SIGNALBOX_CONNECTIONS", now: "SIGNALBOX_MAX_CONNECTIONS"},
	{old: "SIGNALBOX_WATCHES", now: "SIGNALBOX_MAX_WATCHES"},
	{old: "SIGNALBOX_SHARD_OBJECTS", now: "SIGNALBOX_SHARD_QUOTA_OBJECTS"},
	{old: "SIGNALBOX_SHARD_BYTES", now: "SIGNALBOX_SHARD_QUOTA_BYTES"},
	{old: "SIGNALBOX_CONTEXTS", now: "SIGNALBOX_CONTEXT_FILE"},
	{old: "SIGNALBOX_CLIENT_TLS_CA", now: "SIGNALBOX_CACERT"},
	{old: "SIGNALBOX_CLIENT_ADVERTISE", now: "SIGNALBOX_ADVERTISE"},
	{old: "SIGNALBOX_RAFT_TICK", now: "SIGNALBOX_RAFT_HEARTBEAT_INTERVAL"},
	{old: "SIGNALBOX_HTTP_CA", now: "SIGNALBOX_HTTP_PEER_CA"},
	{old: "SIGNALBOX_HTTP_NAMES", now: "SIGNALBOX_HTTP_ALLOWED_HOSTS"},
	{old: "SIGNALBOX_CONSOLE_ACTIONS", now: "SIGNALBOX_CONSOLE_ANONYMOUS_WRITES"},
	{old: "SIGNALBOX_REQUESTS_IN_FLIGHT", now: "SIGNALBOX_MAX_REQUESTS_IN_FLIGHT"},
	{old: "SIGNALBOX_PENDING_LIMIT", now: "SIGNALBOX_MAX_OUTPUT_BUFFER"},
	{old: "SIGNALBOX_PARTIAL_LIMIT", now: "SIGNALBOX_MAX_INPUT_BUFFER"},
	{old: "SIGNALBOX_DATA_LIMIT", now: "SIGNALBOX_MAX_DATA_SIZE"},
	{old: "SIGNALBOX_WATCH_MEMORY", now: "SIGNALBOX_MAX_WATCH_MEMORY"},
}

// retiredCommands are multi-word old names.
var retiredCommands = []retired{
	{old: "signalbox conform", now: "signalbox conformance"},
	{old: "signalbox shard transfer", now: "signalbox shard transfer-leader"},
	{old: "signalbox token new", now: "signalbox token generate"},
	{old: "signalbox cluster steps", now: "signalbox cluster step list"},
	{old: "signalbox rollout acts", now: "signalbox rollout actions"},
	{old: "signalbox process acts", now: "signalbox process actions"},
	{old: "signalbox process kick", now: "signalbox process evict"},
	{old: "signalbox host moved", now: "signalbox host adopt-data-dir"},
}

// retiredWire are protocol names: messages, records, fields and enum values.
var retiredWire = []retired{
	{old: "ACCESS_ASK", now: "ACCESS_CHECK"},
	{old: "ON_BEHALF", now: "FORWARDED_FOR"},
	{old: "HOST_SAY", now: "HOST_NOTIFY"},
	{old: "HOST_OPERATE", now: "HOST_UPDATE"},
	{old: "STEP_EFFECT", now: "STEP_EXECUTE"},
	{old: "SHARD_TRANSFER", now: "SHARD_TRANSFER_LEADER"},
	{old: "PROCESS_PREPARED", now: "PROCESS_PREPARE_ACK"},
	{old: "PROCESS_COMPLETED", now: "PROCESS_COMPLETE_ACK"},
	{old: "PROCESS_ACT", now: "PROCESS_ACTION"},
	{old: "ROLLOUT_ACT", now: "ROLLOUT_ACTION"},
	{old: "ROLLOUT_ASK", now: "ROLLOUT_POLL"},
	{old: "ROLLOUT_ROLE", now: "ROLLOUT_READY"},
	{old: "ROLLOUT_GATE", now: "ROLLOUT_GATE_REPORT"},
	{old: "NUMBER_REUSED", now: "SEQUENCE_REUSED"},
	{old: "RENUMBERED", now: "NEW_SEQUENCE"},
	{old: "CONCERNS", now: "HEALTH"},
	{old: "EXPIRING", now: "TOKEN_EXPIRING"},
	{old: "HostWord", now: "HostEvent"},
	{old: "HostVerb", now: "HostAction"},
	{old: "HostAsked", now: "ClientRequest"},
	{old: "HostConcern", now: "HealthIssue"},
	{old: "UnledReplica", now: "LeaderlessReplica"},
	{old: "small_numbers", now: "enums"},
	{old: "number_base", now: "sequence_base"},
	{old: "start_draw", now: "start_nonce"},
	{old: "known_as", now: "principal"},
	{old: "wish_host_id", now: "preferred_leader_host_id"},
	{old: "progress_ms", now: "progress_deadline_ms"},
	{old: "halt_ms", now: "halt_deadline_ms"},
	{old: "open_most_ms", now: "max_open_delay_ms"},
}

var retiredFlags = []retired{
	{old: "--stable-for", now: "--stabilization-time"},
	{old: "--within", now: "--wait-timeout"},
	{old: "--domain", now: "--failure-domain"},
	{old: "--if-absent", now: "--if-not-exists"},
	{old: "--if-version", now: "--if-revision"},
	{old: "--existing", now: "--create-node=false or --create=false"},
	{old: "--longest-wait", now: "--long-wait-threshold"},
	{old: "--killed", now: "--unclean-shutdown"},
	{old: "--balance-every", now: "--leader-rebalance-interval"},
	{old: "--tier", now: "--meta-voter-label"},
	{old: "--copies", now: "--max-replica-builds"},
	{old: "--ask-interval", now: "--source-interval"},
	{old: "--takes", now: "--assume-duration"},
	{old: "--at-once", now: "--on-assign"},
	{old: "--max-payload", now: "--max-payload-bytes"},
	{old: "--fast", now: "--all-at-once"},
	{old: "--slack", now: "--timing-tolerance"},
	{old: "--plain-tickets", now: "--allow-plaintext-tokens"},
	{old: "--max-queued-mib", now: "--max-queued"},
	{old: "--allow-errors", now: "--max-errors"},
	{old: "--callers", now: "--concurrency", but: []string{"bench/"}},
	{old: "--beside", now: "--parallel", but: []string{"bench/", "docs/testing.md"}},
}

// retiredKinds are health issue kinds and reason codes with unambiguous old names.
var retiredKinds = []retired{
	{old: "copy-missing", now: "replica-missing"},
	{old: "copy-behind", now: "replica-lagging"},
	{old: "level-held", now: "upgrade-not-finalized"},
	{old: "not-started", now: "host-not-started"},
	{old: "not-joined", now: "host-not-joined"},
	{old: "not-online", now: "host-not-online"},
	{old: "connections-refused", now: "connections-rejected"},
	{old: "slow-watches", now: "slow-watchers"},
	{old: "certificate-over", now: "certificate-expired"},
	{old: "certificate-ends", now: "certificate-expiring"},
	{old: "quota-settings", now: "quota-settings-differ"},
	{old: "backup-late", now: "backup-overdue"},
	{old: "rollout-late", now: "rollout-deadline-exceeded"},
	{old: "round-members", now: "process-member-overdue"},
	{old: "round-coordinator", now: "process-coordinator-stalled"},
	{old: "round-blocked", now: "process-blocked"},
	{old: "lock-waits", now: "long-wait"},
	{old: "no-spare", now: "no-eligible-learner"},
	{old: "few-voters", now: "under-replicated or too-few-voters"},
	{old: "few-leaders", now: "too-few-leaders"},
	{old: "few-members", now: "too-few-members"},
}

// retiredIdentifiers are unambiguous old names in the Go API.
var retiredIdentifiers = []retired{
	{old: "ErrNotLetIn", now: "ErrUnauthenticated"},
	{old: "EndSilence", now: "EndUnreachable"},
	{old: "EndTaken", now: "EndTakenOver"},
	{old: "TryObtain", now: "TryAcquire"},
	{old: "ErrNotObtained", now: "ErrNotAcquired"},
	{old: "CreateTokenOf", now: "CreateTokenFromHash"},
	{old: "PastAct", now: "ActionRecord"},
	{old: "StopReason", now: "BlockReason"},
	{old: "Judgement", now: "GateReport"},
	{old: "TimeoutKick", now: "TimeoutEvict"},
	{old: "DivideAfter", now: "RebalanceDelay"},
	{old: "DrawNumbers", now: "AllocateSequences"},
}

var retiredRoutes = []retired{
	{old: "/v1/plan", now: "/v1/cluster/plan"},
	{old: "/v1/audit", now: "/v1/cluster/audit"},
	{old: "/v1/policy/set", now: "/v1/cluster/policy/set"},
	{old: "/v1/step/cancel", now: "/v1/cluster/step/cancel"},
	{old: "/v1/step/retry", now: "/v1/cluster/step/retry"},
	{old: "/v1/acquire", now: "/v1/semaphore/acquire"},
	{old: "/v1/release", now: "/v1/semaphore/release"},
	{old: "/v1/update", now: "/v1/semaphore/update"},
	{old: "/v1/leader", now: "/v1/election/leader"},
	{old: "/v1/locks", now: "/v1/contention"},
	{old: "/v1/lookups", now: "/v1/discovery or /v1/configs"},
	{old: "/v1/sign-in", now: "/v1/login"},
	{old: "/v1/sign-out", now: "/v1/logout"},
	{old: "/v1/session/start", now: "/v1/session/create"},
	{old: "/v1/session/end", now: "/v1/session/close"},
	{old: "/v1/shard/transfer", now: "/v1/shard/transfer-leader"},
	{old: "/v1/concerns", now: "/v1/health"},
	{old: "/v1/denials", now: "/v1/access/denials"},
	{old: "/v1/load/all", now: "/v1/cluster/load"},
	{old: "/v1/load", now: "/v1/host/load"},
	{old: "/v1/rollout/act", now: "/v1/rollout/action"},
	{old: "/v1/rollout/acts", now: "/v1/rollout/actions"},
	{old: "/v1/process/acts", now: "/v1/process/actions"},
	{old: "/v1/process/kick", now: "/v1/process/evict"},
	{old: "/v1/rollout/judge", now: "/v1/rollout/gate/report"},
	{old: "/health/tolerance", now: "/health/failure-tolerance"},
	{old: "Signalbox-Number", now: "Signalbox-Sequence"},
}

// retiredMembers are old JSON member names. Some are words in the protocol, which is not JSON.
func retiredMembers() (list []retired) {
	for old, now := range map[string]string{
		"reads_only":         "read_only",
		"waits_for":          "waiting_for",
		"config_version":     "config_revision",
		"if_version":         "if_revision",
		"last_seq":           "latest_version",
		"ago_ms":             "age_ms",
		"since_ms":           "age_ms",
		"left_ms":            "remaining_ms or expires_in_ms",
		"silent_for_ms":      "last_contact_ms",
		"stuck_for_ms":       "stalled_ms",
		"fresh_ms":           "up_to_date_for_ms",
		"returns_ms":         "rejoin_in_ms",
		"led_ms":             "leader_age_ms",
		"reported_ms":        "report_age_ms",
		"wish_for_ms":        "preferred_leader_expires_in_ms",
		"stable_for_ms":      "stabilization_ms",
		"balance_every_ms":   "leader_rebalance_ms",
		"at_rest":            "idle",
		"waived":             "overridden",
		"inherited_ms":       "inherited_delay_ms",
		"ask_interval_ms":    "source_interval_ms",
		"payload_bytes":      "payload_size_bytes",
		"opens_ms":           "opens_in_ms",
		"time_ms":            "shard_time_ms",
		"disk_free":          "disk_free_bytes",
		"disk_total":         "disk_total_bytes",
		"snapshot_rate":      "snapshot_bytes_per_second",
		"valid_ms":           "ttl_ms",
		"newest_level":       "supported_feature_level",
		"level_held_by":      "feature_level_held_by",
		"longest_wait_ms":    "long_wait_threshold_ms",
		"failures_tolerated": "failure_tolerance",
		"low_mark_bytes":     "low_watermark_bytes",
		"proof_age_seconds":  "read_barrier_age_seconds",
		"refusing_changes":   "writes_rejected",
	} {
		list = append(list, retired{old: old, now: now, in: jsonFiles})
	}
	return list
}

// jsonFiles are the files with JSON members.
var jsonFiles = []string{
	"gateway/http/openapi.json", "gateway/http/console/files/", "docs/http.md", "docs/cli.md", "server/admin/testdata/",
	"cmd/signalbox/testdata/scripts/",
}
