package level

// rows is the table. A thing of a level is written once: its row is added with the thing, and never changes after a
// release. A tidy test in each package compares the table with the code. Levels of messages stand in
// protocol/operations.go.
var rows = []struct {
	level Level
	kind  Kind
	names []string
}{
	{1, Command, []string{
		"lead", "session-create", "session-update", "session-end", "sessions-expire", "sessions-forget",
		"waiters-time-out",
		"node-drop", "level", "digest-take", "digest-compare",
		"semaphore-create", "semaphore-update", "semaphore-delete", "acquire", "release",
	}},
	{1, Object, []string{"semaphore"}},
	{1, Flag, []string{"ephemeral", "force", "operator"}},
	{1, Field, []string{
		"flags", "slot", "node", "session", "number", "acked", "name", "data", "key", "count", "timeout", "order",
		"term",
		"sessions", "waiters", "revision", "sum",
	}},
	{1, Record, []string{
		"State.LastOrder", "State.LastRevision", "State.LastSession", "State.Term", "State.Level", "State.Nodes",
		"State.Sessions", "State.Semaphores",
		"NodeState.ID", "NodeState.Dropping",
		"SessionState.ID", "SessionState.Node", "SessionState.Home", "SessionState.Timeout", "SessionState.Description",
		"SessionState.Key", "SessionState.Applied", "SessionState.Acked", "SessionState.Answers",
		"AnswerState.Number", "AnswerState.Status", "AnswerState.Flags", "AnswerState.Abort", "AnswerState.Order",
		"AnswerState.Revision",
		"SemaphoreState.Node", "SemaphoreState.Name", "SemaphoreState.Data", "SemaphoreState.Limit",
		"SemaphoreState.Ephemeral",
		"SemaphoreState.Revision", "SemaphoreState.Links",
		"LinkState.Session", "LinkState.Order", "LinkState.Count", "LinkState.Data", "LinkState.Timeout",
		"LinkState.Number",
		"LinkState.Owner",
	}},
	{2, Command, []string{"semaphore-resize"}},
	{2, Field, []string{"time", "client"}},
	{2, Record, []string{
		"SessionState.Created", "SessionState.Client", "ClientState.Address", "ClientState.Name", "ClientState.Version",
		"LinkState.Since",
	}},
	{2, Rule, []string{
		// When ownership ends, the kept answers of the acquires that gave the ownership end too: an acquire that is
		// sent again is not answered as acquired.
		"answers-end-with-ownership",
		// No command does more than a bounded number of pieces of work; "continue" does the rest.
		"bounded-work",
		// A session owns and waits for a bounded number of semaphores of a shard.
		"links-per-session",
	}},
	{2, Command, []string{"continue"}},
	{2, Record, []string{
		"State.Pending", "PendingState.Session", "PendingState.Node", "PendingState.Name", "PendingState.Deleting",
	}},
	{3, Command, []string{"node-limits"}},
	{3, Field, []string{"bytes"}},
	{3, Record, []string{
		"State.ObjectLimit", "State.ByteLimit", "NodeState.ObjectLimit", "NodeState.ByteLimit", "AnswerState.Quota",
	}},
	{3, Rule, []string{
		// A command that would make a node or the shard hold more than its quota is refused.
		"quotas",
	}},
	{4, Command, []string{"due"}},
	{4, Record, []string{"State.Now", "State.TimeBase"}},
	{4, MetaCommand, []string{"lead"}},
	{4, MetaCommand, []string{
		"hosts-found", "host-join", "host-boot", "host-return", "host-shutdown", "host-rename", "host-drain",
		"host-undrain", "host-cordon", "host-alter", "host-expel", "host-replace", "shard-transfer", "policy-set",
		"token-create", "token-revoke", "host-failed", "host-reach", "replicas-known", "replica-cleared", "step-begin",
		"step-report", "step-cancel", "step-forget",
	}},
	{4, MetaRecord, []string{"State.Records", "State.Plan", "State.Seen", "HostSeen.ID", "HostSeen.Version"}},
	{4, MetaCommand, []string{
		"access-grant", "access-revoke", "access-role-set", "access-role-delete", "access-token-create",
		"access-token-revoke", "backup-note", "act-note",
	}},
	{4, MetaRecord, []string{"State.Rights"}},
	{4, MetaRecord, []string{"State.Term", "State.Now", "State.TimeBase"}},
	{4, Rule, []string{
		// Batches have the term of their leader and the time of its leadership so far: a batch of a deposed leader has
		// no effect, and every other batch moves the shard's time.
		"batches-of-the-leader",
	}},
	{1, MetaCommand, []string{
		"node-create", "node-alter", "node-drop", "settle-grace", "node-cleared", "host-register", "host-seen",
		"cluster-level",
		"digest-take", "digest-compare", "routing-init", "slots-assign",
	}},
	{1, MetaRecord, []string{
		"State.Version", "State.LastNode", "State.Level", "State.Routing", "State.Hosts", "State.Nodes",
		"State.Dropping",
		"Routing.Version", "Routing.Cluster", "Routing.Shards", "Routing.Ranges",
		"SlotRange.First", "SlotRange.Last", "SlotRange.Shard",
		"Host.ID", "Host.Name", "Host.RaftAddress", "Host.ClientAddress", "Host.AdminAddress", "Host.Version",
		"Host.Level",
		"Host.Current", "Host.Target", "Host.Changed", "Host.Seen",
		"Node.ID", "Node.Path", "Node.Config", "Node.Version", "Node.Timing", "Node.Timed",
		"Config.SelfCheckPeriodMillis", "Config.SessionGracePeriodMillis", "Config.ReadConsistency",
		"Config.AttachConsistency",
		"Config.RateLimiterCountersMode",
		"Timing.Since", "Timing.GraceFloorMillis", "Timing.GraceCeilingMillis", "Timing.SelfCheckCeilingMillis",
		"Dropped.ID", "Dropped.Version", "Dropped.Pending",
	}},
	{2, MessageField, []string{
		"Session.since_ms", "Session.client", "Holding.since_ms", "Owner.since_ms", "Owner.client", "Waiter.since_ms",
		"Waiter.client",
	}},
	{4, Record, []string{
		"State.Objects", "ObjectState.Node", "ObjectState.Name", "ObjectState.Kind", "ObjectState.Revision",
		"ObjectState.Body", "ObjectState.Links", "LinkState.Body",
	}},
	{3, MetaRecord, []string{"Config.QuotaObjects", "Config.QuotaBytes"}},
	{4, MetaRecord, []string{
		"State.NextAnswer", "State.Answers",
		"Answer.Client", "Answer.Number", "Answer.Kind", "Answer.Status", "Answer.Flags", "Answer.Node",
		"Answer.Routing", "Answer.Host", "Answer.Message",
		"Numbered.Client", "Numbered.Number", "Numbered.Since",
	}},
	{3, MessageField, []string{"NodeConfig.quota_objects", "NodeConfig.quota_bytes", "Detail.quota"}},
	{4, Field, []string{"body"}},
	{4, Record, []string{"AnswerState.Body"}},
	{4, Object, []string{"rollout"}},
	{4, Command, []string{
		"rollout-put", "rollout-delete", "rollout-publish", "rollout-source", "rollout-offer", "rollout-join",
		"rollout-leave", "rollout-role", "rollout-report", "rollout-ask", "rollout-act", "rollout-gate",
	}},
	{4, Object, []string{"process"}},
	{4, Flag, []string{"failed"}},
	{4, Command, []string{
		"process-put", "process-delete", "process-join", "process-leave", "process-prepared", "process-send",
		"process-reply", "process-complete", "process-completed", "process-fail", "inbox-ack", "process-act",
	}},
	{4, Rule, []string{
		// A mutation is refused whose own answer may make the kept answers of its session count for more than the limit
		// in bytes.
		"answer-bytes",
	}},
	{4, MetaRecord, []string{"Config.Asked"}},
	{4, MessageField, []string{
		"NodeConfig.asked",
		"Holding.object_kind", "Holding.role",
		"HOLDING_LOST.object_kind",
		"WATCH.object_kind", "WATCH.view", "WATCH_ANSWER.object_kind", "WATCH_SNAPSHOT.rows", "WATCH_DELTA.rows",
		"Numbered.client", "Numbered.number", "Numbered.since",
		"NODE_CREATE.numbered", "NODE_ALTER.numbered", "NODE_DROP.numbered",
		"WELCOME.since", "NODE_CREATE_ANSWER.since", "NODE_ALTER_ANSWER.since", "NODE_DROP_ANSWER.since",
		"Detail.since",
	}},
	{5, MetaRule, []string{
		// A host under expulsion is let in while it has replicas.
		"leavers-boot",
	}},
	{6, Command, []string{"session-numbers"}},
	{6, Record, []string{"SessionState.NumberSpace", "AnswerState.Asked"}},
	{6, Rule, []string{
		// A request under the number of an older request gets no answer of the older request: the request is refused.
		"number-of-one-request",
		// A pending verdict at a gate of a rollout replaces no other verdict.
		"pending-takes-back-nothing",
	}},
	{6, MetaRecord, []string{"Answer.Asked"}},
	{6, MetaRule, []string{
		// The same rule for the numbers of changes of nodes.
		"number-of-one-request",
	}},
	{6, MessageField, []string{"SESSION_ATTACH.numbers", "SESSION_ATTACH_ANSWER.number_base"}},
	{7, MetaRecord, []string{"Config.LongestWaitMillis"}},
	{7, MessageField, []string{"NodeConfig.longest_wait_ms"}},
	{8, MetaRule, []string{
		// A data shard may have replicas on a part of the hosts, and then a cluster may have more than nine hosts.
		"replicas-on-some-hosts",
	}},
	{8, MessageField, []string{"GovernorPolicy.replicas"}},
	{9, Rule, []string{
		// The lower bits of an order id are the id of the shard that gave the order id.
		"order-classes",
	}},
	{9, Record, []string{"SessionState.Losses"}},
	{9, Record, []string{"AnswerState.Slot"}},
	{10, Command, []string{"group-wait"}},
	{10, MetaCommand, []string{"shard-recover", "shards-counted", "shard-overlap", "shard-grants"}},
	{10, Record, []string{
		"State.Group", "Group.Number", "Group.Began", "Group.Until", "Group.Before", "Group.Longest",
	}},
	{10, MessageField, []string{
		"Lease.lost", "SHARD_RECOVER.accept_overlap", "SHARD_RECOVER_ANSWER.wait_ms",
		"SHARD_RECOVER_ANSWER.longest_ms", "SHARD_RECOVER_ANSWER.longest_session",
	}},
	{11, MetaCommand, []string{"host-weigh"}},
	{11, MetaRule, []string{
		// Hosts have weights, and the policy may say which hosts vote in the meta shard.
		"weights-and-tiers",
	}},
	{11, MessageField, []string{"ClusterHost.weight", "GovernorPolicy.tier", "HOST_OPERATE.weight"}},
	{12, Rule, []string{
		// In a process with the shortest delay an epoch opens with the last member of the least number.
		"gathered-opens",
	}},
}
