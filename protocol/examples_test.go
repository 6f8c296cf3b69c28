package protocol

import (
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/protocol/session"
	"slices"
	"time"
)

// An example is a message stored in testdata/vectors under a name.
type example struct {
	name   string
	sample sample
}

// examples hold at least one message per kind, and seed the fuzzers. laterExamples names the examples whose kinds
// belong to a level that this build cannot follow.
var examples = []example{
	{"hello", request(1, &Hello{
		VersionMin: 1, VersionMax: 1,
		ClientName: []byte("billing"), ClientVersion: []byte("go/1.4.2"), Token: []byte("s3cret"),
	})},
	{"welcome", answer(1, &Welcome{
		Version: 1, HostID: 3, HostName: []byte("signal-3"), ClusterID: []byte("9d1f6a"), RoutingVersion: 42,
		Limits: Limits{
			RequestFrameBytes: 131_072, AnswerFrameBytes: 458_752, DataBytes: 65_536,
			RequestsInFlight: 1024, Watches: 4096,
		},
		PingIntervalMillis: 10_000,
	})},
	{"hello-announcing", request(1, &Hello{
		VersionMin: 1, VersionMax: 1, ClientName: []byte("billing"), ClientVersion: []byte("go/2.0.0"),
		Token: []byte("s3cret"), PushKinds: list[KindNumber](ptr(KindNumber(256)), ptr(KindNumber(272))),
	})},
	{"welcome-announcing", answer(1, &Welcome{
		Version: 1, HostID: 3, HostName: []byte("signal-3"), ClusterID: []byte("9d1f6a"), RoutingVersion: 42,
		Limits: Limits{
			RequestFrameBytes: 131_072, AnswerFrameBytes: 458_752, DataBytes: 65_536,
			RequestsInFlight: 1024, Watches: 4096,
		},
		PingIntervalMillis: 10_000,
		RequestKinds: list[KindNumber](
			ptr(KindNumber(128)), ptr(KindNumber(129)), ptr(KindNumber(176)), ptr(KindNumber(1<<53)),
		),
	})},
	{"welcome-since", answer(1, &Welcome{
		Version: 1, HostID: 3, HostName: []byte("signal-3"), ClusterID: []byte("9d1f6a"), Since: 4711,
		Generation: 2, Principal: []byte("ci"),
	})},
	{"welcome-no-common-version", failure(1, KindHello, Result{
		Status: StatusUnsupported, Message: "versions 1 to 1 are spoken here",
	})},
	{"ping", request(2, &Ping{})},
	{"pong", answer(2, &Pong{})},
	{"routing", request(3, &Routing{KnownVersion: 41})},
	{"routing-answer", answer(3, &RoutingAnswer{
		Version: 42, MetaShardID: 1,
		Hosts: list[Host](
			&Host{ID: 3, Name: []byte("signal-3"), Address: []byte("10.0.0.3:7400"), State: HostOnline},
			&Host{ID: 5, Name: []byte("signal-5"), Address: []byte("10.0.0.5:7400"), State: HostOffline},
		),
		Shards: list[Shard](
			&Shard{ID: 1, LeaderHostID: 3, ReplicaHostIDs: list[HostID](ptr(HostID(3)), ptr(HostID(5)))},
			&Shard{ID: 2, ReplicaHostIDs: list[HostID](ptr(HostID(5)))},
		),
		Slots: list[SlotRange](&SlotRange{First: 0, Last: 4095, ShardID: 2}),
	})},
	{"routing-answer-generations", answer(3, &RoutingAnswer{
		Version: 42, MetaShardID: 1,
		Shards: list[Shard](&Shard{ID: 1, LeaderHostID: 3}, &Shard{ID: 2}, &Shard{ID: 3}),
		Slots: list[SlotRange](&SlotRange{First: 0, Last: 2047, ShardID: 2},
			&SlotRange{First: 2048, Last: 4095, ShardID: 3, Generation: 7}),
	})},
	{"routing-answer-unchanged", answer(4, &RoutingAnswer{Version: 42, MetaShardID: 1})},
	{"host-status", request(5, &HostStatus{})},
	{"host-status-answer", answer(5, &HostStatusAnswer{
		HostID: 3, HostName: []byte("signal-3"), Version: []byte("1.0.0"), UptimeMillis: 86_400_000,
		Fresh: true, Connections: 12, Sessions: 40,
		Shards: list[ShardStatus](&ShardStatus{
			ID: 2, LeaderHostID: 3, Term: 7, AppliedIndex: 81_233, CommitLag: 1,
			Sessions: 40, Semaphores: 5000, Waiters: 17,
		}),
		Meta: ShardStatus{LeaderHostID: 1, Term: 5, AppliedIndex: 977},
	})},
	{"host-status-answer-objects", answer(5, &HostStatusAnswer{
		HostID: 3, HostName: []byte("signal-3"), Version: []byte("1.0.0"), Fresh: true,
		Shards: list[ShardStatus](&ShardStatus{
			ID: 2, LeaderHostID: 3, Term: 7, AppliedIndex: 81_233, Sessions: 40, Rollouts: 12, Processes: 3,
		}),
	})},
	{"host-status-answer-level", answer(5, &HostStatusAnswer{
		HostID: 3, HostName: []byte("signal-3"), Version: []byte("1.0.0"), UptimeMillis: 86_400_000, Fresh: true,
		Level: FeatureLevel{
			Cluster: 1, Newest: 2, HeldBy: []byte("level 2 waits for host signal-1, which can follow up to level 1"),
		},
	})},
	{"host-status-answer-refusal", answer(5, &HostStatusAnswer{
		HostID: 3, HostName: []byte("signal-3"), Version: []byte("1.0.0"), Refusal: []byte("the disk is nearly full"),
	})},
	{"host-load", request(5, &HostLoad{})},
	{"host-load-answer", answer(5, &HostLoadAnswer{
		SpanMillis: 5004, Requests: 61_200, Failed: 12, P50Micros: 410, P99Micros: 2900, CommitP99Micros: 1800,
		DiskFreeBytes: 64 << 30, DiskTotalBytes: 256 << 30,
	})},
	{"host-load-traffic", request(5, &HostLoad{Traffic: true})},
	{"host-load-answer-traffic", answer(5, &HostLoadAnswer{
		SpanMillis: 5004, Requests: 61_200, Traffic: Traffic{
			SpanMillis: 60_010, Requests: 734_000,
			Clients: list[ClientTraffic](&ClientTraffic{
				Name: []byte("worker"), Principal: []byte("billing"), Address: []byte("10.0.0.7"), Requests: 700_000,
			}),
			Nodes: list[NodeTraffic](&NodeTraffic{Path: []byte("/prod/jobs"), Requests: 600_000}),
		},
	})},
	{"health", request(5, &Health{})},
	{"health-answer", answer(5, &HealthAnswer{
		HostName: []byte("signal-3"), NowMillis: 1_700_000_060_000, Governs: true,
		Items: list[HealthIssue](
			&HealthIssue{health.Issue{
				Kind: health.NoQuorum, Severity: health.Critical, Subject: "shards meta, 1",
				About: health.About{Shards: []string{"0", "1"}}, Since: time.UnixMilli(1_700_000_000_000),
				WaitsFor: "b, c", Do: "start the hosts that are away", Text: "1 of 3 voters are alive",
			}},
			&HealthIssue{health.Issue{
				Kind: health.RolloutBlocked, Severity: health.Warning, Subject: "rollout web in /prod",
				About: health.About{Node: "/prod", Name: "web", Host: "signal-3"}, Text: "no leaders in eu", More: 3,
			}},
		),
	})},
	{"forwarded-for", request(5, &ForwardedFor{RequestID: 6, Address: []byte("192.0.2.7:51234")})},
	{"forwarded-for-answer", answer(5, &ForwardedForAnswer{})},
	{"node-create", request(6, &NodeCreate{
		Path: []byte("/prod/jobs"),
		Config: NodeConfig{
			SelfCheckPeriodMillis: 1000, SessionGracePeriodMillis: 10_000, ReadConsistency: ConsistencyRelaxed,
			AttachConsistency: ConsistencyStrict, RateLimiterCountersMode: CountersAggregated,
		},
	})},
	{"node-create-longest-wait", request(6, &NodeCreate{
		Path: []byte("/prod/jobs"), Config: NodeConfig{LongestWaitMillis: 60_000},
	})},
	{"node-create-quota", request(6, &NodeCreate{
		Path: []byte("/prod/jobs"), Config: NodeConfig{QuotaObjects: 50_000, QuotaBytes: 64 << 20},
	})},
	{"node-create-asked", request(6, &NodeCreate{
		Path: []byte("/local/jobs"), Config: NodeConfig{
			SelfCheckPeriodMillis: 1000, SessionGracePeriodMillis: 2000,
			Asked: AskedConfig{SessionGracePeriodMillis: 1000},
		},
	})},
	{"node-create-idempotent", request(6, &NodeCreate{Path: []byte("/prod/jobs"), Idempotency: exampleIdempotency()})},
	{"node-create-answer", answer(6, &NodeCreateAnswer{Node: exampleNode(), Existed: true})},
	{"node-describe", request(7, &NodeDescribe{Path: []byte("/prod/jobs"), NodeID: 17})},
	{"node-describe-answer", answer(7, &NodeDescribeAnswer{Node: exampleNode()})},
	{"node-alter", request(8, &NodeAlter{
		Path: []byte("/prod/jobs"), Config: NodeConfig{ReadConsistency: ConsistencyStrict},
	})},
	{"node-alter-guarded", request(8, &NodeAlter{
		Path: []byte("/prod/jobs"), NodeID: 17, ConfigVersion: 1,
		Config: NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 2000},
	})},
	{"node-alter-answer", answer(8, &NodeAlterAnswer{Node: exampleNode()})},
	{"node-drop", request(9, &NodeDrop{Path: []byte("/prod/jobs")})},
	{"node-drop-guarded", request(9, &NodeDrop{Path: []byte("/prod/jobs"), NodeID: 17})},
	{"node-alter-idempotent", request(8, &NodeAlter{
		Path: []byte("/prod/jobs"), Config: NodeConfig{ReadConsistency: ConsistencyStrict},
		Idempotency: exampleIdempotency(),
	})},
	{"node-alter-answer-since", answer(8, &NodeAlterAnswer{Node: exampleNode(), Since: 4712})},
	{"node-create-answer-since", answer(6, &NodeCreateAnswer{Node: exampleNode(), Since: 4712})},
	{"node-drop-idempotent", request(9, &NodeDrop{NodeID: 17, Idempotency: exampleIdempotency()})},
	{"node-drop-answer-since", answer(9, &NodeDropAnswer{Since: 4712})},
	{"node-drop-answer-stale", failure(9, KindNodeDrop, Result{
		Status: StatusStale, Message: "number 7 may have been carried out and forgotten", Since: 14_712,
	})},
	{"node-drop-answer", answer(9, &NodeDropAnswer{})},
	{"node-list", request(10, &NodeList{Prefix: []byte("/prod/"), After: []byte("/prod/a"), Limit: 100})},
	{"node-list-answer", answer(10, &NodeListAnswer{
		Nodes: list[Node](ptr(exampleNode())), Next: []byte("/prod/jobs"),
	})},
	{"session-start", request(11, &SessionStart{
		Path: []byte("/prod/jobs"), TimeoutMillis: 5000, Details: session.Details{Description: "worker 7"},
		SessionSecret: []byte("k3y"), AttachSequence: 1,
	})},
	{"session-start-answer", answer(11, &SessionStartAnswer{SessionID: exampleSession, Lease: exampleLease()})},
	{"session-attach", request(12, &SessionAttach{
		SessionID: exampleSession, SessionSecret: []byte("k3y"), AttachSequence: 2,
	})},
	{"session-attach-change", request(13, &SessionAttach{
		SessionID: exampleSession, SessionSecret: []byte("k3y"), AttachSequence: 3,
		Change: true, TimeoutMillis: 30_000, Details: session.Details{Description: "worker 7, slow network"},
	})},
	{"session-attach-sequences", request(14, &SessionAttach{
		SessionID: exampleSession, SessionSecret: []byte("k3y"), AttachSequence: 3, Sequences: true,
	})},
	{"session-attach-answer-sequences", answer(14, &SessionAttachAnswer{Lease: exampleLease(), SequenceBase: 1 << 55})},
	{"session-attach-answer", answer(12, &SessionAttachAnswer{Lease: exampleLease()})},
	{"session-attach-answer-rebuilt", answer(12, &SessionAttachAnswer{Lease: Lease{NodeID: 17, TimeoutMillis: 5000,
		Lost: list[LostHoldings](&LostHoldings{Fence: 81_922, Slots: exampleSlotSet()})}})},
	{"session-attach-answer-expired", failure(12, KindSessionAttach, Result{Status: StatusSessionExpired})},
	{"session-bind", request(14, &SessionBind{SessionID: exampleSession, SessionSecret: []byte("k3y")})},
	{"session-bind-answer", answer(14, &SessionBindAnswer{NodeID: 17})},
	{"session-stop", request(15, &SessionStop{SessionID: exampleSession})},
	{"session-stop-answer", answer(15, &SessionStopAnswer{})},
	{"session-detach", request(15, &SessionDetach{SessionID: exampleSession, LeftMillis: 5000})},
	{"session-detach-answer", answer(15, &SessionDetachAnswer{})},
	{"session-destroy", request(16, &SessionDestroy{SessionID: exampleSession})},
	{"session-destroy-answer", answer(16, &SessionDestroyAnswer{})},
	{"session-describe", request(17, &SessionDescribe{SessionID: exampleSession})},
	{"session-describe-answer", answer(17, &SessionDescribeAnswer{Session: exampleListedSession()})},
	{"session-list", request(18, &SessionList{NodeID: 17, ShardID: 2, After: exampleSession - 1, Limit: 100})},
	{"session-list-slots", request(18, &SessionList{NodeID: 17, ShardID: 2, Limit: 100,
		ListSlots: exampleListSlots()})},
	{"session-list-answer", answer(18, &SessionListAnswer{
		Sessions: list[Session](ptr(exampleListedSession())), Next: exampleSession,
	})},
	{"session-list-answer-since", answer(18, &SessionListAnswer{
		Sessions: list[Session](ptr(exampleSessionWithClient())),
	})},
	{"session-list-answer-missing", answer(18, &SessionListAnswer{Missing: exampleSlots()})},
	{"session-list-answer-empty", answer(18, &SessionListAnswer{})},
	{"session-holdings", request(19, &SessionHoldings{SessionID: exampleSession, ShardID: 2, After: 4, Limit: 100})},
	{"session-holdings-strict", request(19, &SessionHoldings{
		SessionID: exampleSession, ShardID: 2, Consistency: ConsistencyStrict,
	})},
	{"session-holdings-slots", request(19, &SessionHoldings{
		SessionID: exampleSession, ShardID: 2, ListSlots: exampleListSlots(),
	})},
	{"session-holdings-answer-missing", answer(19, &SessionHoldingsAnswer{Missing: exampleSlots()})},
	{"session-holdings-answer", answer(19, &SessionHoldingsAnswer{
		Holdings: list[Holding](
			&Holding{Name: []byte("leader"), OrderID: 5, Count: Exclusive},
			&Holding{Name: []byte("slots"), OrderID: 9, Count: 2, Waiting: true},
		),
		Next: 9,
	})},
	{"session-holdings-answer-since", answer(19, &SessionHoldingsAnswer{
		Holdings: list[Holding](&Holding{Name: []byte("slots"), OrderID: 9, Count: 2, SinceMillis: exampleTime}),
	})},
	{"session-holdings-answer-kinds", answer(19, &SessionHoldingsAnswer{
		Holdings: list[Holding](
			&Holding{Name: []byte("slots"), OrderID: 9, Count: 2, ObjectKind: ObjectSemaphore},
			&Holding{Name: []byte("dns"), OrderID: 11, ObjectKind: 2, Role: []byte("follower")},
		),
	})},
	{"semaphore-create", request(20, &SemaphoreCreate{
		Mutation: exampleMutation(2), NodeID: 17, Name: []byte("slots"), Limit: 10, Data: []byte("v1"),
	})},
	{"semaphore-create-answer", answer(20, &SemaphoreCreateAnswer{Revision: 1})},
	{"semaphore-create-no-session", request(21, &SemaphoreCreate{NodeID: 17, Name: []byte("slots"), Limit: 10})},
	{"semaphore-create-answer-quota", failure(20, KindSemaphoreCreate, Result{
		Status: StatusQuotaExceeded, Message: "node bytes: 67,108,700 of 67,108,864 are used",
		Quota: Quota{Kind: QuotaNodeBytes, Limit: 64 << 20, Used: 67_108_700},
	})},
	{"semaphore-create-answer-exists", failure(21, KindSemaphoreCreate, Result{Status: StatusAlreadyExists})},
	{"semaphore-update", request(22, &SemaphoreUpdate{
		Mutation: exampleMutation(3), NodeID: 17, Name: []byte("slots"), Data: []byte{0, 1, 0xff}, OrderID: 5,
	})},
	{"semaphore-update-expected", request(22, &SemaphoreUpdate{
		Mutation: exampleMutation(3), NodeID: 17, Name: []byte("slots"), Data: []byte("v2"), ExpectedRevision: 41,
	})},
	{"semaphore-update-answer", answer(22, &SemaphoreUpdateAnswer{Revision: 2})},
	{"semaphore-update-answer-fenced", failure(22, KindSemaphoreUpdate, Result{
		Status: StatusFenced, Message: "order id 5 is not the session's current one",
	})},
	{"semaphore-resize", request(37, &SemaphoreResize{
		Mutation: exampleMutation(4), NodeID: 17, Name: []byte("slots"), Limit: 12, ExpectedRevision: 41,
	})},
	{"semaphore-resize-answer", answer(37, &SemaphoreResizeAnswer{Revision: 42})},
	{"semaphore-delete", request(23, &SemaphoreDelete{
		Mutation: exampleMutation(4), NodeID: 17, Name: []byte("slots"), Force: true,
	})},
	{"semaphore-delete-answer", answer(23, &SemaphoreDeleteAnswer{})},
	{"acquire", request(24, typicalAcquire())},
	{"acquire-exclusive-ephemeral", request(25, &Acquire{
		Mutation: exampleMutation(5), NodeID: 17, Name: []byte("étage/3"), Count: Exclusive,
		WaitMillis: Forever, Ephemeral: true,
	})},
	{"acquire-answer-limit", answer(24, &AcquireAnswer{Outcome: Queued, OrderID: 81_301, SemaphoreLimit: 10})},
	{"acquire-answer-acquired", answer(24, &AcquireAnswer{Outcome: Acquired, OrderID: 81_300})},
	{"acquire-answer-queued", answer(25, &AcquireAnswer{Outcome: Queued, OrderID: 81_301})},
	{"acquire-answer-not-acquired", answer(26, &AcquireAnswer{})},
	{"acquire-answer-moved", failure(27, KindAcquire, Result{
		Status: StatusMoved,
		Moved:  Moved{ShardID: 2, LeaderHostID: 5, LeaderAddress: "10.0.0.5:7400", RoutingVersion: 43},
	})},
	{"acquire-answer-slot-moved", failure(27, KindAcquire, Result{
		Status: StatusMoved,
		Moved: Moved{ShardID: 2, LeaderHostID: 5, LeaderAddress: "10.0.0.5:7400", RoutingVersion: 43, Slot: 1719,
			Generation: 3},
	})},
	{"acquire-answer-overloaded", failure(28, KindAcquire, Result{
		Status: StatusOverloaded, Message: "the queue of shard 2 is full", WaitMillis: 250,
	})},
	{"acquire-answer-aborted", failure(29, KindAcquire, Result{Status: StatusAborted, Reason: AbortDeleted})},
	{"release", request(29, &Release{
		Mutation: exampleMutation(6), NodeID: 17, Name: []byte("slots"), OrderID: 81_300,
	})},
	{"release-answer", answer(29, &ReleaseAnswer{Released: true})},
	{"semaphore-describe", request(30, &SemaphoreDescribe{
		NodeID: 17, Name: []byte("slots"), IncludeOwners: true, IncludeWaiters: true,
		Consistency: ConsistencyStrict, After: 4, Limit: 100,
		WatchData: true, WatchOwners: true, SessionID: exampleSession,
	})},
	{"semaphore-describe-generation", request(30, &SemaphoreDescribe{
		NodeID: 17, Name: []byte("slots"), Generation: 3,
	})},
	{"semaphore-describe-answer", answer(30, &SemaphoreDescribeAnswer{
		Semaphore: exampleSemaphore(),
		Owners:    exampleOwners(),
		Waiters: list[Waiter](&Waiter{
			OrderID: 9, SessionID: exampleSession, Count: 8, Data: []byte("w"), TimeoutMillis: Forever,
		}),
		Next: 9, WatchAdded: true,
	})},
	{"semaphore-describe-answer-since", answer(30, &SemaphoreDescribeAnswer{
		Semaphore: exampleSemaphore(),
		Owners: list[Owner](&Owner{
			OrderID: 5, SessionID: exampleSession, Count: 1, SinceMillis: exampleTime, Client: exampleClientInfo(),
		}),
		Waiters: list[Waiter](&Waiter{
			OrderID: 9, SessionID: exampleSession + 1, Count: 8, TimeoutMillis: Forever,
			SinceMillis: exampleTime + 1500, Client: exampleClientInfo(),
		}),
	})},
	{"semaphore-list", request(31, &SemaphoreList{
		NodeID: 17, ShardID: 2, Prefix: []byte("s"), After: []byte("sl"), Limit: 100, IncludeData: true,
	})},
	{"semaphore-list-strict", request(31, &SemaphoreList{
		NodeID: 17, ShardID: 2, Limit: 100, Consistency: ConsistencyStrict,
	})},
	{"semaphore-list-slots", request(31, &SemaphoreList{NodeID: 17, ShardID: 2, ListSlots: exampleListSlots()})},
	{"semaphore-list-answer-missing", answer(31, &SemaphoreListAnswer{Missing: exampleSlots()})},
	{"semaphore-list-answer", answer(31, &SemaphoreListAnswer{
		Semaphores: list[Semaphore](ptr(exampleSemaphore())), Next: []byte("slots"),
	})},
	{"watch", request(32, &Watch{NodeID: 17, Name: []byte("slots"), Since: 7, Owners: true, Data: true})},
	{"watch-kind", request(34, &Watch{
		NodeID: 17, Name: []byte("web"), Since: 7, ObjectKind: 200, View: []byte("waves/1"),
	})},
	{"watch-generation", request(32, &Watch{NodeID: 17, Name: []byte("slots"), Generation: 3})},
	{"watch-answer", answer(32, &WatchAnswer{})},
	{"watch-kind-answer", answer(34, &WatchAnswer{ObjectKind: 200})},
	{"watch-stop", request(33, &WatchStop{WatchID: 32})},
	{"watch-stop-answer", answer(33, &WatchStopAnswer{})},
	{"granted", push(25, &Granted{OrderID: 81_301})},
	{"timed-out", push(25, &TimedOut{})},
	{"aborted", push(25, &Aborted{Result: Result{Status: StatusAborted, Reason: AbortReplaced}})},
	{"aborted-moved", push(25, &Aborted{Result: Result{
		Status: StatusMoved, Moved: Moved{ShardID: 2, RoutingVersion: 43},
	}})},
	{"watch-changed", push(30, &WatchChanged{Data: true, Owners: true})},
	{"watch-changed-perhaps", push(30, &WatchChanged{})},
	{"holding-lost", push(0, &HoldingLost{
		SessionID: exampleSession, NodeID: 17, Name: []byte("slots"), OrderID: 5, Reason: AbortDeleted,
	})},
	{"holding-lost-kind", push(0, &HoldingLost{
		SessionID: exampleSession, NodeID: 17, Name: []byte("dns"), OrderID: 11, Reason: AbortDeleted,
		ObjectKind: ObjectRollout,
	})},
	{"holding-lost-rebuilt", push(0, &HoldingLost{
		SessionID: exampleSession, OrderID: 81_922, Slots: exampleSlotSet(),
	})},
	{"watch-snapshot", push(32, &WatchSnapshot{
		Revision: 8, First: true, Last: true, Exists: true, Limit: 10, Data: []byte("v1"), Owners: exampleOwners(),
	})},
	{"watch-snapshot-ephemeral", push(32, &WatchSnapshot{
		Revision: 8, First: true, Exists: true, Ephemeral: true, Limit: Exclusive, Owners: exampleOwners(),
	})},
	{"watch-snapshot-rows", push(34, &WatchSnapshot{
		Revision: 8, First: true, Last: true, Exists: true, Data: []byte("head"), Rows: exampleRows(),
	})},
	{"watch-snapshot-missing", push(32, &WatchSnapshot{Revision: 8, First: true, Last: true})},
	{"watch-delta", push(32, &WatchDelta{
		From: 8, To: 11, DataChanged: true, Data: []byte("v2"),
		Gone: list[OrderID](ptr(OrderID(5)), ptr(OrderID(300))), Joined: exampleOwners(),
	})},
	{"watch-delta-created", push(32, &WatchDelta{
		From: 11, To: 14, Existence: ExistenceCreated, Ephemeral: true, Limit: Exclusive, Joined: exampleOwners(),
	})},
	{"watch-delta-limit", push(32, &WatchDelta{From: 14, To: 15, Limit: 12})},
	{"watch-delta-rows", push(34, &WatchDelta{
		From: 8, To: 11, DataChanged: true, Data: []byte("head 2"), Gone: list[OrderID](ptr(OrderID(6))),
		Rows: exampleRows(),
	})},
	{"watch-delta-deleted", push(32, &WatchDelta{From: 14, To: 15, Existence: ExistenceDeleted})},
	{"watch-resync", push(32, &WatchResync{})},
	{"watch-end", push(32, &WatchEnd{Result: Result{Status: StatusNotFound, Message: "the node was dropped"}})},
	{"session-detached", push(0, &SessionDetached{
		SessionID: exampleSession, Result: Result{Status: StatusBadSession,
			Message: "attached over another connection"},
	})},
	{"session-ended", push(0, &SessionEnded{SessionID: exampleSession, Reason: EndExpired})},
	{"routing-changed", push(0, &RoutingChanged{Version: 43})},
	{"routing-changed-leader", push(0, &RoutingChanged{Version: 43, ShardID: 2, LeaderHostID: 3, Term: 17})},
	{"going-away", push(0, &GoingAway{Result: Result{
		Status: StatusUnavailable, Message: "the host is being restarted", WaitMillis: 500,
	}})},
}

var laterExamples = make(map[string]bool)

func init() {
	examples = append(examples, rolloutExamples...)
	examples = append(examples, accessExamples...)
	examples = append(examples, backupExamples...)
	examples = append(examples, processExamples...)
	examples = append(examples, clusterExamples...)
	examples = append(examples, betweenHostsExamples...)
	kinds := knownKinds()
	examples = slices.DeleteFunc(examples, func(e example) bool {
		later := !slices.Contains(kinds, e.sample.kind)
		if later {
			laterExamples[e.name] = true
		}
		return later
	})
}

// exampleSession is a session in home slot 2047.
const exampleSession = 2047<<sessionSlotShift | 81_233

func exampleMutation(number uint64) Mutation {
	return Mutation{SessionID: exampleSession, Sequence: number, AcknowledgedSequence: number - 1}
}

func exampleSlots() SlotRanges {
	return list[SlotRange](&SlotRange{First: 1000, Last: 1668}, &SlotRange{First: 1670, Last: 1670})
}

func exampleListSlots() ListSlots { return ListSlots{Slots: exampleSlots(), Generation: 3} }

func exampleNode() Node {
	return Node{
		ID: 17, Path: []byte("/prod/jobs"), ConfigVersion: 2,
		Config: NodeConfig{SelfCheckPeriodMillis: 1000, SessionGracePeriodMillis: 10_000,
			ReadConsistency: ConsistencyRelaxed},
	}
}

func exampleLease() Lease {
	return Lease{NodeID: 17, TimeoutMillis: 5000, GraceMillis: 10_000, Config: NodeConfig{SelfCheckPeriodMillis: 1000}}
}

// exampleSlotSet is the set of the slots 0 to 6 and 4095.
func exampleSlotSet() []byte {
	set := make([]byte, SlotSetBytes)
	set[0], set[SlotSetBytes-1] = 0x7f, 0x80
	return set
}

func exampleListedSession() Session {
	return Session{
		ID: exampleSession, NodeID: 17, TimeoutMillis: 5000, Details: session.Details{Description: "worker 7"},
		Attached: true, Owned: 2, Waiting: 1,
	}
}

// exampleTime is a moment in 2026.
const exampleTime = 1_772_366_400_123

func exampleClientInfo() ClientInfo {
	return ClientInfo{Address: []byte("10.20.30.40:51234"), Name: []byte("billing"), Version: []byte("1.4.0")}
}

func exampleSessionWithClient() Session {
	s := exampleListedSession()
	s.SinceMillis, s.Client = exampleTime, exampleClientInfo()
	return s
}

func exampleSemaphore() Semaphore {
	return Semaphore{
		Name: []byte("slots"), Limit: 10, Count: 3, Revision: 7, Owners: 2, Waiters: 1, Data: []byte("v1"),
	}
}

func exampleIdempotency() Idempotency {
	return Idempotency{Client: []byte("0123456789abcdef"), Sequence: 7, Since: 4711}
}

func exampleOwners() Owners {
	return list[Owner](
		&Owner{OrderID: 5, SessionID: exampleSession, Count: 1, Data: []byte("10.20.30.40:8080")},
		&Owner{OrderID: 7, SessionID: exampleSession + 1, Count: 2},
	)
}

func exampleRows() Rows {
	return list[Row](&Row{ID: 4, Body: []byte("row 4")}, &Row{ID: 300})
}

func request(id uint64, m RequestMessage) sample {
	return sample{kind: m.Kind(), id: id, message: m}
}

func answer(id uint64, m AnswerMessage) sample {
	return sample{kind: m.Kind(), id: id, message: m}
}

func push(id uint64, m PushMessage) sample {
	return sample{kind: m.Kind(), id: id, message: m}
}

// failure is the answer to a failed request.
func failure(id uint64, kind Kind, result Result) sample {
	a := Answer{Kind: kind.Answer()}
	return sample{kind: a.Kind, id: id, result: result, message: a.Message()}
}

func list[T any, P item[T]](items ...P) List[T, P] {
	var l List[T, P]
	for _, it := range items {
		l.Append(*it)
	}
	return l
}

func views[T any, P viewed[T]](values ...T) (l Views[T, P]) {
	for _, v := range values {
		l.Append(v)
	}
	return l
}

func ptr[T any](v T) *T { return &v }
