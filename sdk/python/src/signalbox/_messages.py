"""The messages and records of the protocol, made by tools/messages.py from the protocol's schema.

A field is written as name:type. The types are u for uint, t for text, b for bytes, o for bool, the name of a record,
and any of these behind a star for a list. The fields of a message are those behind its kind and request id, and in an
answer behind status and detail too.
"""

MESSAGES: dict[int, tuple[str, str]] = {
    1: ("HELLO", "version_min:u version_max:u client_name:t client_version:t token:b push_kinds:*u"),
    2: ("PING", ""),
    3: ("ROUTING", "known_version:u"),
    4: ("HOST_STATUS", ""),
    8: ("NODE_CREATE", "path:t config:NodeConfig idempotency:Idempotency"),
    9: ("NODE_DESCRIBE", "path:t node_id:u"),
    10: ("NODE_ALTER", "path:t config:NodeConfig node_id:u config_version:u idempotency:Idempotency"),
    11: ("NODE_DROP", "path:t node_id:u idempotency:Idempotency"),
    12: ("NODE_LIST", "prefix:t after:t limit:u"),
    16: ("SESSION_START", "path:t timeout_ms:u details:SessionDetails session_secret:b attach_sequence:u"),
    17: ("SESSION_ATTACH", (
        "session_id:u session_secret:b attach_sequence:u change:o timeout_ms:u "
        "details:SessionDetails sequences:o"
    )),
    18: ("SESSION_BIND", "session_id:u session_secret:b"),
    19: ("SESSION_STOP", "session_id:u"),
    20: ("SESSION_DESTROY", "session_id:u"),
    21: ("SESSION_DESCRIBE", "session_id:u"),
    22: ("SESSION_LIST", "node_id:u shard_id:u after:u limit:u"),
    23: ("SESSION_HOLDINGS", "session_id:u shard_id:u after:u limit:u consistency:u"),
    24: ("SEMAPHORE_CREATE", "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t limit:u data:b"),
    25: ("SEMAPHORE_UPDATE", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t data:b "
        "order_id:u expected_revision:u"
    )),
    26: ("SEMAPHORE_DELETE", "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t force:o"),
    27: ("ACQUIRE", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t count:u "
        "wait_ms:u data:b ephemeral:o"
    )),
    28: ("RELEASE", "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t order_id:u"),
    29: ("SEMAPHORE_DESCRIBE", (
        "node_id:u name:t include_owners:o include_waiters:o consistency:u after:u "
        "limit:u watch_data:o watch_owners:o session_id:u generation:u"
    )),
    30: ("SEMAPHORE_LIST", "node_id:u shard_id:u prefix:t after:t limit:u include_data:o consistency:u"),
    31: ("SEMAPHORE_RESIZE", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t limit:u "
        "expected_revision:u"
    )),
    32: ("WATCH", "node_id:u name:t since:u owners:o data:o object_kind:u view:t generation:u"),
    33: ("WATCH_STOP", "watch_id:u"),
    65: ("WELCOME", (
        "version:u host_id:u host_name:t cluster_id:t routing_version:u limits:Limits "
        "ping_interval_ms:u request_kinds:*u since:u generation:u principal:t"
    )),
    66: ("PONG", ""),
    67: ("ROUTING_ANSWER", "version:u meta_shard_id:u hosts:*Host shards:*Shard slots:*SlotRange"),
    68: ("HOST_STATUS_ANSWER", (
        "host_id:u host_name:t version:t uptime_ms:u fresh:o connections:u sessions:u "
        "shards:*ShardStatus meta:ShardStatus level:FeatureLevel refusal:t"
    )),
    72: ("NODE_CREATE_ANSWER", "node:Node existed:o since:u"),
    73: ("NODE_DESCRIBE_ANSWER", "node:Node"),
    74: ("NODE_ALTER_ANSWER", "node:Node since:u"),
    75: ("NODE_DROP_ANSWER", "since:u"),
    76: ("NODE_LIST_ANSWER", "nodes:*Node next:t"),
    80: ("SESSION_START_ANSWER", "session_id:u lease:Lease"),
    81: ("SESSION_ATTACH_ANSWER", "lease:Lease sequence_base:u"),
    82: ("SESSION_BIND_ANSWER", "node_id:u"),
    83: ("SESSION_STOP_ANSWER", ""),
    84: ("SESSION_DESTROY_ANSWER", ""),
    85: ("SESSION_DESCRIBE_ANSWER", "session:Session"),
    86: ("SESSION_LIST_ANSWER", "sessions:*Session next:u"),
    87: ("SESSION_HOLDINGS_ANSWER", "holdings:*Holding next:u"),
    88: ("SEMAPHORE_CREATE_ANSWER", "revision:u"),
    89: ("SEMAPHORE_UPDATE_ANSWER", "revision:u"),
    90: ("SEMAPHORE_DELETE_ANSWER", ""),
    91: ("ACQUIRE_ANSWER", "outcome:u order_id:u semaphore_limit:u"),
    92: ("RELEASE_ANSWER", "released:o"),
    93: ("SEMAPHORE_DESCRIBE_ANSWER", "semaphore:Semaphore owners:*Owner waiters:*Waiter next:u watch_added:o"),
    94: ("SEMAPHORE_LIST_ANSWER", "semaphores:*Semaphore next:t"),
    95: ("SEMAPHORE_RESIZE_ANSWER", "revision:u"),
    96: ("WATCH_ANSWER", "object_kind:u"),
    97: ("WATCH_STOP_ANSWER", ""),
    112: ("GRANTED", "order_id:u"),
    113: ("TIMED_OUT", ""),
    114: ("ABORTED", "status:u detail:Detail"),
    115: ("WATCH_CHANGED", "data:o owners:o"),
    116: ("HOLDING_LOST", "session_id:u node_id:u name:t order_id:u reason:u object_kind:u"),
    117: ("WATCH_SNAPSHOT", (
        "revision:u first:o last:o exists:o ephemeral:o limit:u data:b owners:*Owner "
        "rows:*Row"
    )),
    118: ("WATCH_DELTA", (
        "from:u to:u existence:u data_changed:o data:b gone:*u joined:*Owner ephemeral:o "
        "limit:u rows:*Row"
    )),
    119: ("WATCH_RESYNC", ""),
    120: ("WATCH_END", "status:u detail:Detail"),
    121: ("SESSION_DETACHED", "session_id:u status:u detail:Detail"),
    122: ("SESSION_ENDED", "session_id:u reason:u"),
    123: ("ROUTING_CHANGED", "version:u shard_id:u leader_host_id:u term:u"),
    124: ("GOING_AWAY", "status:u detail:Detail"),
    128: ("ROLLOUT_PUT", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t mode:u "
        "expected_revision:u spec:RolloutSpec author:t reason:t"
    )),
    129: ("ROLLOUT_DELETE", "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t force:o"),
    130: ("ROLLOUT_PUBLISH", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t payload:b "
        "label:t author:t reason:t compare:o expected_seq:u fence:u"
    )),
    131: ("ROLLOUT_SOURCE", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t unregister:o "
        "source:t"
    )),
    132: ("ROLLOUT_OFFER", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t ticket:u "
        "declined:o text:t payload:b label:t author:t"
    )),
    133: ("ROLLOUT_JOIN", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t instance:t "
        "location:t attributes:b"
    )),
    134: ("ROLLOUT_LEAVE", "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t"),
    135: ("ROLLOUT_READY", "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t leader:o"),
    136: ("ROLLOUT_REPORT", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t "
        "report:InstanceReport"
    )),
    137: ("ROLLOUT_POLL", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t "
        "report:InstanceReport"
    )),
    138: ("ROLLOUT_ACTION", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t "
        "action:RolloutAction"
    )),
    139: ("ROLLOUT_GATE_REPORT", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t location:t "
        "gate:t seq:u generation:u verdict:u author:t text:t"
    )),
    140: ("ROLLOUT_DESCRIBE", "node_id:u name:t section:t after:u limit:u explain:o consistency:u generation:u"),
    141: ("ROLLOUT_LIST", "node_id:u shard_id:u prefix:t after:t limit:u consistency:u"),
    142: ("ROLLOUT_PLAN", "node_id:u name:t takes_ms:u publish:o action:RolloutAction consistency:u"),
    144: ("ACCESS_CHANGE", (
        "idempotency:Idempotency author:t reason:t action:u principal:t role:t "
        "rules:*AccessRule grants:*AccessGrant hash:b expires_ms:u roles:*AccessRole "
        "principals:*AccessPrincipal"
    )),
    145: ("ACCESS_LIST", "roles:o after:t limit:u export:o"),
    146: ("ACCESS_CHECK", "principal:t path:t object:t right:u"),
    147: ("ACCESS_DENIALS", "limit:u"),
    148: ("HOST_LOAD", ""),
    149: ("FORWARDED_FOR", "request_id:u address:t"),
    150: ("HEALTH", ""),
    151: ("SHARD_RECOVER", "idempotency:Idempotency author:t reason:t shard_id:u empty:o accept_overlap:o"),
    152: ("BACKUP_DESCRIBE", ""),
    153: ("BACKUP_BEGIN", "shard_id:u"),
    154: ("BACKUP_READ", "state_id:u"),
    155: ("BACKUP_END", "state_id:u"),
    160: ("PROCESS_PUT", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t mode:u "
        "expected_revision:u spec:ProcessSpec author:t reason:t"
    )),
    161: ("PROCESS_DELETE", "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t force:o"),
    162: ("PROCESS_JOIN", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member:t "
        "attributes:b candidate:o create:o spec:ProcessSpec"
    )),
    163: ("PROCESS_LEAVE", "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member_id:u"),
    164: ("PROCESS_PREPARE_ACK", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member_id:u "
        "epoch:u ack:u"
    )),
    165: ("PROCESS_SEND", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member_id:u "
        "epoch:u ack:u audience:u to:*u payload:b timeout_ms:u"
    )),
    166: ("PROCESS_REPLY", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member_id:u "
        "epoch:u ack:u exchange:u failed:o data:b"
    )),
    167: ("PROCESS_COMPLETE", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member_id:u "
        "epoch:u ack:u result:b"
    )),
    168: ("PROCESS_COMPLETE_ACK", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member_id:u "
        "epoch:u ack:u"
    )),
    169: ("PROCESS_FAIL", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member_id:u "
        "epoch:u ack:u text:t"
    )),
    170: ("INBOX_ACK", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t member_id:u "
        "ack:u"
    )),
    171: ("PROCESS_ACTION", (
        "session_id:u sequence:u acknowledged_sequence:u node_id:u name:t action:u "
        "member_id:u author:t reason:t"
    )),
    172: ("PROCESS_DESCRIBE", "node_id:u name:t section:t after:u limit:u explain:o consistency:u generation:u"),
    173: ("PROCESS_LIST", "node_id:u shard_id:u prefix:t after:t limit:u consistency:u"),
    174: ("INBOX_OPEN", "session_id:u node_id:u name:t member_id:u after:u"),
    177: ("HOST_BOOT", (
        "host_id:u incarnation:b start_number:u start_nonce:u raft_address:t "
        "client_address:t admin_address:t version:t level:u domain:t"
    )),
    178: ("HOST_NOTIFY", (
        "event:u host_id:u incarnation:b start_number:u start_nonce:u epoch:u "
        "raft_address:t client_address:t admin_address:t shard_id:u bytes:u "
        "asked:ClientRequest commands:b"
    )),
    179: ("HOST_UPDATE", (
        "idempotency:Idempotency author:t reason:t action:u host:t force:o domain:t "
        "successor:t weight:u"
    )),
    180: ("SHARD_TRANSFER_LEADER", "idempotency:Idempotency author:t reason:t shard_id:u host:t"),
    181: ("CLUSTER_DESCRIBE", "consistency:u"),
    182: ("CLUSTER_PLAN", ""),
    183: ("CLUSTER_WHY", ""),
    184: ("STEP_CANCEL", "idempotency:Idempotency author:t reason:t step_id:u subject:t hold_ms:u"),
    185: ("POLICY_SET", "idempotency:Idempotency author:t reason:t from:GovernorPolicy to:GovernorPolicy"),
    186: ("AUDIT_READ", "from:u limit:u"),
    187: ("JOIN_TOKEN", "idempotency:Idempotency author:t reason:t action:u id:t hash:b valid_ms:u"),
    188: ("SHARD_REPORT", "term:u governor_host_id:u target:u target_epoch:u current:u current_epoch:u"),
    189: ("STEP_EXECUTE", (
        "term:u step_id:u effect:u shard_id:u replica_id:u host_id:u incarnation:b "
        "change:u rebuild:Rebuild"
    )),
    190: ("SESSION_DETACH", "session_id:u left_ms:u"),
    192: ("ROLLOUT_PUT_ANSWER", "revision:u created:o"),
    193: ("ROLLOUT_DELETE_ANSWER", ""),
    194: ("ROLLOUT_PUBLISH_ANSWER", "seq:u"),
    195: ("ROLLOUT_SOURCE_ANSWER", "source_id:u"),
    196: ("ROLLOUT_OFFER_ANSWER", "seq:u"),
    197: ("ROLLOUT_JOIN_ANSWER", "instance_id:u"),
    198: ("ROLLOUT_LEAVE_ANSWER", ""),
    199: ("ROLLOUT_READY_ANSWER", ""),
    200: ("ROLLOUT_REPORT_ANSWER", ""),
    201: ("ROLLOUT_POLL_ANSWER", "target:RolloutTarget next_in_ms:u gone:o"),
    202: ("ROLLOUT_ACTION_ANSWER", "generation:u"),
    203: ("ROLLOUT_GATE_REPORT_ANSWER", ""),
    204: ("ROLLOUT_DESCRIBE_ANSWER", "revision:u now_ms:u phase:u head:b rows:*Row next:u reasons:*Reason"),
    205: ("ROLLOUT_LIST_ANSWER", "rollouts:*RolloutSummary next:t"),
    206: ("ROLLOUT_PLAN_ANSWER", "now_ms:u steps:*PlannedStep"),
    208: ("ACCESS_CHANGE_ANSWER", "existed:o since:u"),
    209: ("ACCESS_LIST_ANSWER", "roles:*AccessRole principals:*AccessPrincipal next:t open:o"),
    210: ("ACCESS_CHECK_ANSWER", "decisions:*AccessDecision more:o"),
    211: ("ACCESS_DENIALS_ANSWER", "host_name:t denials:*AccessDenial total:u"),
    212: ("HOST_LOAD_ANSWER", (
        "span_ms:u requests:u failed:u p50_us:u p99_us:u commit_p99_us:u "
        "disk_free_bytes:u disk_total_bytes:u"
    )),
    213: ("FORWARDED_FOR_ANSWER", ""),
    214: ("HEALTH_ANSWER", "host_name:t now_ms:u items:*HealthIssue governs:o"),
    215: ("SHARD_RECOVER_ANSWER", "host_id:u since:u wait_ms:u longest_ms:u longest_session:u"),
    216: ("BACKUP_DESCRIBE_ANSWER", "cluster_id:t generation:Generation shards:u level:u host_version:t"),
    217: ("BACKUP_BEGIN_ANSWER", "state_id:u term:u index:u"),
    218: ("BACKUP_READ_ANSWER", "piece:b done:o"),
    219: ("BACKUP_END_ANSWER", ""),
    224: ("PROCESS_PUT_ANSWER", "revision:u created:o"),
    225: ("PROCESS_DELETE_ANSWER", ""),
    226: ("PROCESS_JOIN_ANSWER", "member_id:u"),
    227: ("PROCESS_LEAVE_ANSWER", ""),
    228: ("PROCESS_PREPARE_ACK_ANSWER", ""),
    229: ("PROCESS_SEND_ANSWER", "exchange:u"),
    230: ("PROCESS_REPLY_ANSWER", ""),
    231: ("PROCESS_COMPLETE_ANSWER", ""),
    232: ("PROCESS_COMPLETE_ACK_ANSWER", ""),
    233: ("PROCESS_FAIL_ANSWER", ""),
    234: ("INBOX_ACK_ANSWER", ""),
    235: ("PROCESS_ACTION_ANSWER", ""),
    236: ("PROCESS_DESCRIBE_ANSWER", "revision:u now_ms:u head:b rows:*Row next:u reasons:*ProcessReason"),
    237: ("PROCESS_LIST_ANSWER", "processes:*ProcessSummary next:t now_ms:u"),
    238: ("INBOX_OPEN_ANSWER", "acked:u last_seq:u"),
    241: ("HOST_BOOT_ANSWER", ""),
    242: ("HOST_NOTIFY_ANSWER", ""),
    243: ("HOST_UPDATE_ANSWER", "host_id:u existed:o since:u"),
    244: ("SHARD_TRANSFER_LEADER_ANSWER", "host_id:u existed:o since:u"),
    245: ("CLUSTER_DESCRIBE_ANSWER", (
        "cluster_id:t generation:Generation governor_host_id:u observed:o "
        "hosts:*ClusterHost shards:*ClusterShard policy:GovernorPolicy "
        "health_issues:*HealthIssue last_audit:u"
    )),
    246: ("CLUSTER_PLAN_ANSWER", "steps:*ClusterStep reasons:*GovernorReason truncated:o"),
    247: ("CLUSTER_WHY_ANSWER", "steps:*ClusterStep reasons:*GovernorReason"),
    248: ("STEP_CANCEL_ANSWER", "existed:o since:u"),
    249: ("POLICY_SET_ANSWER", "existed:o since:u"),
    250: ("AUDIT_READ_ANSWER", "entries:*AuditEntry next:u oldest:u newest:u"),
    251: ("JOIN_TOKEN_ANSWER", "tokens:*JoinToken existed:o since:u addresses:*t authority:b"),
    252: ("SHARD_REPORT_ANSWER", (
        "incarnation:b fresh:o fresh_ms:u barrier_ms:u disk_full:o led:*LedShard "
        "held:*HeldReplica counted:*CountedShard leaderless:*LeaderlessReplica "
        "speed:HostSpeed"
    )),
    253: ("STEP_EXECUTE_ANSWER", ""),
    254: ("SESSION_DETACH_ANSWER", ""),
    256: ("INBOX", "session_id:u node_id:u name:t member_id:u items:*Item status:u detail:Detail"),
    260: ("TOKEN_EXPIRING", "token:t left_ms:u"),
}

RECORDS: dict[str, str] = {
    "AccessDecision": "principal:t grant:AccessGrant rule:AccessRule",
    "AccessDenial": "at_ms:u principal:t address:t request:t right:u path:t object:t",
    "AccessGrant": "role:t path:t object:t",
    "AccessPrincipal": "principal:t expires_ms:u created_ms:u author:t grants:*AccessGrant sha256:t",
    "AccessRole": "name:t rules:*AccessRule",
    "AccessRule": "path:t object:t rights:u",
    "AskedConfig": (
        "self_check_period_ms:u session_grace_period_ms:u read_consistency:u "
        "attach_consistency:u rate_limiter_counters_mode:u"
    ),
    "AuditEntry": "id:u event:t host_id:u host_name:t text:t author:t reason:t wall_ms:u",
    "ClientInfo": "address:t name:t version:t",
    "ClientRequest": "author:t operation:t reason:t",
    "ClusterHost": (
        "id:u name:t incarnation:b starts:u addresses:HostAddresses domain:t version:t "
        "level:u current:HostStanding target:HostStanding cordoned:o replaces:u "
        "returns_ms:u observed:HostObservation weight:u"
    ),
    "ClusterReplica": (
        "id:u host_id:u role:u age_ms:u observed:o index:u behind_ms:u snapshot_percent:u "
        "snapshot_rate:u"
    ),
    "ClusterShard": (
        "id:u change:u replicas:*ClusterReplica leader_host_id:u led_ms:u report_ms:u "
        "redundancy:Redundancy preferred_leader_host_id:u preferred_leader_ms:u"
    ),
    "ClusterStep": (
        "id:u kind:t text:t rule:t subject:t shard_id:u host_id:u in_ms:u age_ms:u "
        "failures:u last_error:t wait_ms:u"
    ),
    "CountedShard": "shard_id:u last_order:u last_revision:u last_session:u",
    "Detail": (
        "message:t wait_ms:u reason:u shard_id:u leader_host_id:u leader_address:t "
        "routing_version:u quota:Quota since:u slot:u generation:u"
    ),
    "DomainLoss": "label:t live:u tolerated:o",
    "FeatureLevel": "cluster:u newest:u held_by:t",
    "GateState": "name:t verdict:u author:t text:t since:u",
    "Generation": "number:u nonce:b",
    "GovernorPolicy": (
        "voters:u offline_after_ms:u replace_after_ms:u stable_for_ms:u "
        "balance_every_ms:u max_replica_builds:u replicas:u meta_voter_label:t"
    ),
    "GovernorReason": "code:t text:t rule:t subjects:*t age_ms:u left_ms:u",
    "HealthIssue": (
        "kind:t severity:u subject:t node:t name:t host:t shards:*t since_ms:u "
        "waits_for:t do:t text:t more:u"
    ),
    "HeldReplica": "shard_id:u replica_id:u",
    "Holding": "name:t order_id:u count:u waiting:o since_ms:u object_kind:u role:t",
    "Host": "id:u name:t address:t state:u",
    "HostAddresses": "raft:t client:t admin:t",
    "HostObservation": (
        "alive:o silent_ms:u stalled_ms:u fresh_ms:u slow_ms:u slow:t sync_us:u "
        "timer_us:u round_us:u stalls:u"
    ),
    "HostSpeed": "sync_us:u delay_us:u round_us:u stalls:u",
    "HostStanding": "state:u epoch:u reason:t text:t author:t age_ms:u",
    "Idempotency": "client:b sequence:u since:u",
    "InstanceCounts": "instances:u leaders:u reached:u failing:u",
    "InstanceReport": "current:u generation:u status:u code:t text:t attempts:u",
    "Item": (
        "seq:u kind:u epoch:u members:u coordinator:u exchange:u from:u payload:b "
        "outcome:u replies:*Reply last:o missing:u missed:*u"
    ),
    "JoinToken": "id:t left_ms:u author:t used:b",
    "LeaderlessReplica": "shard_id:u replica_id:u term:u index:u",
    "Lease": "node_id:u timeout_ms:u grace_ms:u config:NodeConfig lost:*u",
    "LedShard": "id:u term:u led_ms:u change:u members:*ShardMember",
    "Limits": (
        "request_frame_bytes:u answer_frame_bytes:u data_bytes:u requests_in_flight:u "
        "watches:u"
    ),
    "LocationSpec": "name:t delay_ms:u require:u max_failing:u gates:*t",
    "Node": "id:u path:t config:NodeConfig config_version:u",
    "NodeConfig": (
        "self_check_period_ms:u session_grace_period_ms:u read_consistency:u "
        "attach_consistency:u rate_limiter_counters_mode:u quota_objects:u quota_bytes:u "
        "asked:AskedConfig longest_wait_ms:u"
    ),
    "Owner": "order_id:u session_id:u count:u data:b since_ms:u client:ClientInfo",
    "PlannedStep": "at_ms:u location:t seq:u cause:u",
    "ProcessActionRow": (
        "action:u shard_time_ms:u wall_ms:u epoch:u member_id:u member:t author:t "
        "reason:t"
    ),
    "ProcessMember": (
        "name:t session_id:u candidate:o joined:u in_epoch:o prepared:u completed:u "
        "unread:u attributes:b"
    ),
    "ProcessOverview": (
        "spec:ProcessSpec spec_revision:u epoch:u phase:u since:u opened:u opens_ms:u "
        "coordinator:u members:u epoch_members:u last_result:u "
        "last_action:ProcessActionRow"
    ),
    "ProcessReason": (
        "code:t text:t blocked:o epoch:u exchange:u from:u waiting:u total:u "
        "waiting_for:*u since:u until:u late:o"
    ),
    "ProcessResult": "epoch:u shard_time_ms:u wall_ms:u payload_bytes:u payload:b",
    "ProcessSpec": (
        "open_delay_ms:u max_open_delay_ms:u min_members:u reply_timeout_ms:u "
        "on_timeout:u payload_bytes:u keep_results:u"
    ),
    "ProcessSummary": (
        "name:t revision:u epoch:u phase:u members:u prepared:u last_result:u "
        "coordinator:t since:u"
    ),
    "Quota": "kind:u limit:u used:u",
    "Reason": (
        "code:t text:t location:t blocked:o seq:u waiting:u total:u waiting_for:*t "
        "since:u until:u"
    ),
    "Rebuild": (
        "group:u empty:o longest_ms:u longest_session:u last_order:u last_revision:u "
        "last_session:u counted_ms:u"
    ),
    "Redundancy": "wanted:u voters:u live:u tolerated:u lost:o domains:*DomainLoss",
    "ReelectSpec": "codes:*t after_ms:u attempts:u interval_ms:u max:u",
    "Reply": "from:u failed:o data:b",
    "RolloutAction": "action:u locations:*t seq:u fast:o author:t reason:t",
    "RolloutActionRow": "id:u shard_time_ms:u wall_ms:u action:RolloutAction",
    "RolloutInstance": (
        "name:t session_id:u leader:o report:InstanceReport since:u sent:u received:u "
        "attributes:b"
    ),
    "RolloutLocation": (
        "index:u spec:LocationSpec inherited_ms:u target:TargetRow gates:*GateState "
        "counts:InstanceCounts bypassed:o rolling_back_to:u stalled:o reelections:u"
    ),
    "RolloutOverview": (
        "spec:RolloutSpec spec_revision:u last_seq:u generation:u paused:RolloutStop "
        "halted:RolloutStop sources:*t declined:t last_action:RolloutActionRow"
    ),
    "RolloutSpec": (
        "locations:*LocationSpec delay_from:u versions:u reelect:ReelectSpec "
        "progress_deadline_ms:u halt_deadline_ms:u keep_versions:u source_interval_ms:u"
    ),
    "RolloutStop": "since:u reason:u location:t author:t text:t",
    "RolloutSummary": "name:t revision:u phase:u locations:u reached:u instances:u last_seq:u label:t",
    "RolloutTarget": "generation:u seq:u label:t payload:b",
    "RolloutVersion": (
        "seq:u published:u wall_ms:u withdrawn:o payload_bytes:u label:t author:t "
        "reason:t abandoned_in:*t payload:b"
    ),
    "Row": "id:u body:b",
    "Semaphore": "name:t limit:u count:u revision:u owners:u waiters:u ephemeral:o data:b",
    "Session": (
        "id:u node_id:u timeout_ms:u details:SessionDetails attached:o owned:u waiting:u "
        "since_ms:u client:ClientInfo"
    ),
    "SessionDetails": "description:t",
    "Shard": "id:u leader_host_id:u replica_host_ids:*u",
    "ShardMember": (
        "replica_id:u host_id:u incarnation:b voter:o index:u behind_ms:u tried:o "
        "silent_ms:u snapshot_percent:u snapshot_rate:u"
    ),
    "ShardStatus": (
        "id:u leader_host_id:u term:u applied_index:u commit_lag:u sessions:u "
        "semaphores:u waiters:u rollouts:u processes:u"
    ),
    "SlotRange": "first:u last:u shard_id:u generation:u",
    "SourceTicket": "ticket:u source_id:u opened:u",
    "TargetRow": (
        "seq:u generation:u assigned:u reached:u abandoned:u cause:u waived:o note:t "
        "assigned_wall_ms:u reached_wall_ms:u abandoned_wall_ms:u"
    ),
    "Waiter": "order_id:u session_id:u count:u data:b timeout_ms:u since_ms:u client:ClientInfo",
}
