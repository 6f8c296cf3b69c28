package protocol

// clusterExamples are the examples of what operators do with the hosts of a cluster, and ask about them.
var clusterExamples = []example{
	{"host-operate-drain", request(80, &HostOperate{
		Operation: exampleOperation(), Verb: HostDrain, Host: []byte("b"),
	})},
	{"host-operate-alter", request(80, &HostOperate{
		Operation: exampleOperation(), Verb: HostAlter, Host: []byte("2"), Domain: []byte("dc=a,rack=1"),
	})},
	{"host-operate-expel", request(80, &HostOperate{
		Operation: exampleOperation(), Verb: HostExpel, Host: []byte("b"), Force: true,
	})},
	{"host-operate-replace", request(80, &HostOperate{
		Operation: exampleOperation(), Verb: HostReplace, Host: []byte("b"), Successor: []byte("d"),
	})},
	{"host-operate-answer", answer(80, &HostOperateAnswer{HostID: 2, Existed: true, Since: 907})},
	{"host-operate-answer-quorum", failure(80, KindHostOperate, Result{
		Status:  StatusPreconditionFailed,
		Message: "host b cannot be drained: that would leave 1 of 3 voters of shard 0", Since: 908,
	})},
	{"shard-transfer", request(81, &ShardTransfer{Operation: exampleOperation(), ShardID: 3, Host: []byte("c")})},
	{"shard-transfer-answer", answer(81, &ShardTransferAnswer{HostID: 3, Existed: true, Since: 909})},
	{"cluster-describe", request(82, &ClusterDescribe{Consistency: ConsistencyRelaxed})},
	{"cluster-describe-answer", answer(82, exampleCluster())},
	{"cluster-plan", request(83, &ClusterPlan{})},
	{"cluster-plan-answer", answer(83, &ClusterPlanAnswer{
		Steps: list[ClusterStep](&ClusterStep{
			Kind: []byte("promote"), Text: []byte("shard 3: making d a voter"), Rule: []byte("few"),
			Subject: []byte("shard/3"), ShardID: 3, HostID: 4, InMillis: 10_000,
		}),
		Reasons: list[GovernorReason](exampleGovernorReason()), Cut: true,
	})},
	{"cluster-why", request(84, &ClusterWhy{})},
	{"cluster-why-answer", answer(84, &ClusterWhyAnswer{
		Steps: list[ClusterStep](&ClusterStep{
			ID: 77, Kind: []byte("add"), Text: []byte("shard 3: adding d as a learner, replica 1024"),
			Subject: []byte("shard/3"), ShardID: 3, HostID: 4, AgeMillis: 2_100, Failures: 2,
			LastError: []byte("host d does not answer"), WaitMillis: 1_900,
		}),
		Reasons: list[GovernorReason](exampleGovernorReason()),
	})},
	{"step-cancel", request(85, &StepCancel{Operation: exampleOperation(), StepID: 77, HoldMillis: 60_000})},
	{"step-cancel-delay", request(85, &StepCancel{Operation: exampleOperation(), Subject: []byte("shard/3")})},
	{"step-cancel-answer", answer(85, &StepCancelAnswer{Existed: true, Since: 910})},
	{"policy", request(86, &Policy{
		Operation: exampleOperation(), From: exampleGovernorPolicy(0), To: exampleGovernorPolicy(3),
	})},
	{"policy-answer", answer(86, &PolicyAnswer{Existed: true, Since: 911})},
	{"policy-answer-fenced", failure(86, KindPolicy, Result{
		Status: StatusFenced, Message: "the policy was changed meanwhile", Since: 911,
	})},
	{"audit-read", request(87, &AuditRead{From: 41, Limit: 100})},
	{"audit-read-answer", answer(87, &AuditReadAnswer{
		Entries: list[AuditEntry](&AuditEntry{
			Number: 41, Event: []byte("target"), HostID: 2, HostName: []byte("b"), Text: []byte("OFFLINE, drained"),
			By: []byte("ann@box"), Why: []byte("a new disk"), WallMillis: 1_772_366_400_123,
		}),
		Next: 42, Oldest: 1, Newest: 77,
	})},
	{"token-create", request(88, &Token{
		Operation: exampleOperation(), Verb: TokenCreate, ID: []byte("q7xk2m"), Hash: exampleHash(),
		ValidMillis: 3_600_000,
	})},
	{"token-revoke", request(88, &Token{Operation: exampleOperation(), Verb: TokenRevoke, ID: []byte("q7xk2m")})},
	{"token-answer", answer(88, &TokenAnswer{
		Tokens: list[JoinToken](&JoinToken{
			ID: []byte("q7xk2m"), LeftMillis: 3_599_000, By: []byte("ann@box"), Used: exampleIncarnation(),
		}),
		Existed: true, Since: 912, Addresses: list[Address](ptr(Address("a.example:7421"))), Authority: exampleHash(),
	})},
}

func exampleOperation() Operation {
	return Operation{
		Numbered: Numbered{Client: []byte("fedcba9876543210"), Number: 9, Since: 900}, Author: []byte("ann@box"),
		Reason: []byte("a new disk"),
	}
}

func exampleHash() []byte { return []byte("0123456789abcdef0123456789abcdef") }

func exampleGovernorPolicy(voters uint64) GovernorPolicy {
	return GovernorPolicy{
		Voters: voters, OfflineAfterMillis: 5_000, ReplaceAfterMillis: 600_000, StableForMillis: 10_000,
		BalanceEveryMillis: 300_000, Copies: 2,
	}
}

func exampleGovernorReason() *GovernorReason {
	return &GovernorReason{
		Code: []byte("snapshot"), Text: []byte("shard 3: adding d waits for its snapshot, 41 %"), Rule: []byte("few"),
		Subjects: list[Subject](ptr(Subject("shard/3")), ptr(Subject("host/4"))), AgeMillis: 7_000, LeftMillis: 3_000,
	}
}

func exampleCluster() *ClusterDescribeAnswer {
	return &ClusterDescribeAnswer{
		ClusterID: []byte("prod-1"), Generation: Generation{Number: 1, Draw: exampleIncarnation()}, GovernorHostID: 3,
		Observed: true, Hosts: list[ClusterHost](exampleClusterHost()),
		Shards: list[ClusterShard](exampleClusterShard()),
		Policy: exampleGovernorPolicy(3),
		Concerns: list[Concern](&Concern{
			Severity: SeverityWarning, Code: []byte("offline"), Text: []byte("host b is OFFLINE: silent for 31 s"),
			Mend: []byte("start it again, or: signalbox host replace b NEW"), HostID: 2,
			Shards: list[ShardID](ptr(ShardID(0)), ptr(ShardID(3))),
		}),
		LastAudit: 77,
	}
}

func exampleClusterHost() *ClusterHost {
	return &ClusterHost{
		ID: 4, Name: []byte("d"), Incarnation: exampleIncarnation(), Starts: 3,
		Addresses: HostAddresses{
			Raft: []byte("d.example:7421"), Client: []byte("d.example:7420"), Admin: []byte("d.example:7422"),
		},
		Domain: []byte("dc=a,rack=1"), Version: []byte("v1.4.0"), Level: 4,
		Current: HostStanding{
			State: HostOnline, Epoch: 3, Reason: []byte("started"), Text: []byte("start 3"), By: []byte("host d"),
			AgeMillis: 81_000,
		},
		Target: HostStanding{
			State: HostOffline, Epoch: 3, Reason: []byte("silent"), Text: []byte("not heard for 5.2 s"),
			By: []byte("the governor"), AgeMillis: 1_000,
		},
		Cordoned: true, Replaces: 2, ReturnsMillis: 300,
		Seen: HostSeen{Alive: true, SilentMillis: 100, StuckMillis: 200, FreshMillis: 80_000},
	}
}

func exampleClusterShard() *ClusterShard {
	return &ClusterShard{
		ID: 3, Change: 4711, LeaderHostID: 3, LedMillis: 61_000, ReportMillis: 400,
		Replicas: list[ClusterReplica](
			&ClusterReplica{ID: 3, HostID: 3, Role: ReplicaVoter, AgeMillis: 90_000, Observed: true, Index: 90_001},
			&ClusterReplica{
				ID: 1024, HostID: 4, Role: ReplicaLearner, AgeMillis: 7_000, Observed: true, Index: 70_000,
				BehindMillis: 5_000, SnapshotPercent: 41, SnapshotRate: 12_000_000,
			},
		),
		Redundancy: Redundancy{
			Wanted: 3, Voters: 3, Live: 2, Tolerated: 1, Lost: true,
			Domains: list[DomainLoss](&DomainLoss{Label: []byte("dc=a"), Live: 1, Tolerated: true}),
		},
		WishHostID: 1, WishMillis: 59_000,
	}
}
