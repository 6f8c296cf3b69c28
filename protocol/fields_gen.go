// Code generated from the structs of messages by: go test ./test/tidy -run Messages -update. DO NOT EDIT.

package protocol

import "github.com/signalbox/signalbox/protocol/access"

import "github.com/signalbox/signalbox/protocol/host"

func (m *Hello) requestFields(c *codec) {
	c.uint("version_min", &m.VersionMin)
	c.uint("version_max", &m.VersionMax)
	c.text("client_name", &m.ClientName, MaxClientNameBytes)
	c.text("client_version", &m.ClientVersion, MaxVersionBytes)
	c.bytes("token", &m.Token, MaxTokenBytes)
	listField(c, "push_kinds", &m.PushKinds)
}

func (m *Welcome) answerFields(c *codec) {
	c.uint("version", &m.Version)
	c.uint("host_id", &m.HostID)
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	c.text("cluster_id", &m.ClusterID, MaxClusterIDBytes)
	c.uint("routing_version", &m.RoutingVersion)
	c.record("limits", m.Limits.fields)
	c.uint("ping_interval_ms", &m.PingIntervalMillis)
	listField(c, "request_kinds", &m.RequestKinds)
	c.uint("since", &m.Since)
	c.uint("generation", &m.Generation)
	c.text("principal", &m.Principal, MaxPrincipalBytes)
}

func (*Ping) requestFields(*codec) {}

func (*Pong) answerFields(*codec) {}

func (m *Routing) requestFields(c *codec) {
	c.uint("known_version", &m.KnownVersion)
}

func (m *RoutingAnswer) answerFields(c *codec) {
	c.uint("version", &m.Version)
	c.uint("meta_shard_id", &m.MetaShardID)
	listField(c, "hosts", &m.Hosts)
	listField(c, "shards", &m.Shards)
	listField(c, "slots", &m.Slots)
}

func (*HostStatus) requestFields(*codec) {}

func (m *HostStatusAnswer) answerFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	c.text("version", &m.Version, MaxVersionBytes)
	c.uint("uptime_ms", &m.UptimeMillis)
	c.bool("fresh", &m.Fresh)
	c.uint("connections", &m.Connections)
	c.uint("sessions", &m.Sessions)
	listField(c, "shards", &m.Shards)
	c.record("meta", m.Meta.fields)
	c.record("level", m.Level.fields)
	c.text("refusal", &m.Refusal, MaxMessageBytes)
}

func (m *NodeCreate) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.record("config", m.Config.fields)
	c.record("idempotency", m.Idempotency.fields)
}

func (m *NodeCreateAnswer) answerFields(c *codec) {
	c.record("node", m.Node.fields)
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (m *NodeDescribe) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.uint("node_id", &m.NodeID)
}

func (m *NodeDescribeAnswer) answerFields(c *codec) {
	c.record("node", m.Node.fields)
}

func (m *NodeAlter) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.record("config", m.Config.fields)
	c.uint("node_id", &m.NodeID)
	c.uint("config_version", &m.ConfigVersion)
	c.record("idempotency", m.Idempotency.fields)
}

func (m *NodeAlterAnswer) answerFields(c *codec) {
	c.record("node", m.Node.fields)
	c.uint("since", &m.Since)
}

func (m *NodeDrop) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.uint("node_id", &m.NodeID)
	c.record("idempotency", m.Idempotency.fields)
}

func (m *NodeDropAnswer) answerFields(c *codec) {
	c.uint("since", &m.Since)
}

func (m *NodeList) requestFields(c *codec) {
	c.text("prefix", &m.Prefix, MaxPathBytes)
	c.text("after", &m.After, MaxPathBytes)
	c.uint("limit", &m.Limit)
}

func (m *NodeListAnswer) answerFields(c *codec) {
	listField(c, "nodes", &m.Nodes)
	c.text("next", &m.Next, MaxPathBytes)
}

func (m *SessionStart) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.millis("timeout_ms", &m.TimeoutMillis, MaxSessionTimeoutMillis)
	c.value("details", &m.Details)
	c.bytes("session_secret", &m.SessionSecret, MaxSecretBytes)
	c.uint("attach_sequence", &m.AttachSequence)
}

func (m *SessionStartAnswer) answerFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.record("lease", m.Lease.fields)
}

func (m *SessionAttach) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.bytes("session_secret", &m.SessionSecret, MaxSecretBytes)
	c.uint("attach_sequence", &m.AttachSequence)
	c.bool("change", &m.Change)
	c.millis("timeout_ms", &m.TimeoutMillis, MaxSessionTimeoutMillis)
	c.value("details", &m.Details)
	c.bool("sequences", &m.Sequences)
}

func (m *SessionAttachAnswer) answerFields(c *codec) {
	c.record("lease", m.Lease.fields)
	c.uint("sequence_base", &m.SequenceBase)
}

func (m *SessionBind) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.bytes("session_secret", &m.SessionSecret, MaxSecretBytes)
}

func (m *SessionBindAnswer) answerFields(c *codec) {
	c.uint("node_id", &m.NodeID)
}

func (m *SessionStop) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
}

func (*SessionStopAnswer) answerFields(*codec) {}

func (m *SessionDestroy) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
}

func (*SessionDestroyAnswer) answerFields(*codec) {}

func (m *SessionDescribe) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
}

func (m *SessionDescribeAnswer) answerFields(c *codec) {
	c.record("session", m.Session.fields)
}

func (m *SessionList) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.uint("shard_id", &m.ShardID)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
	m.ListSlots.fields(c)
}

func (m *SessionListAnswer) answerFields(c *codec) {
	listField(c, "sessions", &m.Sessions)
	c.uint("next", &m.Next)
	listField(c, "missing", &m.Missing)
}

func (m *SessionHoldings) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.uint("shard_id", &m.ShardID)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
	enum(c, "consistency", &m.Consistency)
	m.ListSlots.fields(c)
}

func (m *SessionHoldingsAnswer) answerFields(c *codec) {
	listField(c, "holdings", &m.Holdings)
	c.uint("next", &m.Next)
	listField(c, "missing", &m.Missing)
}

func (m *SemaphoreCreate) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("limit", &m.Limit)
	c.bytes("data", &m.Data, c.dataMax)
}

func (m *SemaphoreCreateAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
}

func (m *SemaphoreUpdate) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.bytes("data", &m.Data, c.dataMax)
	c.uint("order_id", &m.OrderID)
	c.uint("expected_revision", &m.ExpectedRevision)
}

func (m *SemaphoreUpdateAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
}

func (m *SemaphoreDelete) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.bool("force", &m.Force)
}

func (*SemaphoreDeleteAnswer) answerFields(*codec) {}

func (m *Acquire) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("count", &m.Count)
	c.timeout("wait_ms", &m.WaitMillis, MaxAcquireWaitMillis)
	c.bytes("data", &m.Data, c.dataMax)
	c.bool("ephemeral", &m.Ephemeral)
}

func (m *AcquireAnswer) answerFields(c *codec) {
	enum(c, "outcome", &m.Outcome)
	c.uint("order_id", &m.OrderID)
	c.uint("semaphore_limit", &m.SemaphoreLimit)
}

func (m *Release) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("order_id", &m.OrderID)
}

func (m *ReleaseAnswer) answerFields(c *codec) {
	c.bool("released", &m.Released)
}

func (m *SemaphoreDescribe) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.bool("include_owners", &m.IncludeOwners)
	c.bool("include_waiters", &m.IncludeWaiters)
	enum(c, "consistency", &m.Consistency)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
	c.bool("watch_data", &m.WatchData)
	c.bool("watch_owners", &m.WatchOwners)
	c.uint("session_id", &m.SessionID)
	c.uint("generation", &m.Generation)
}

func (m *SemaphoreDescribeAnswer) answerFields(c *codec) {
	c.record("semaphore", m.Semaphore.fields)
	listField(c, "owners", &m.Owners)
	listField(c, "waiters", &m.Waiters)
	c.uint("next", &m.Next)
	c.bool("watch_added", &m.WatchAdded)
}

func (m *SemaphoreList) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.uint("shard_id", &m.ShardID)
	c.text("prefix", &m.Prefix, MaxNameBytes)
	c.text("after", &m.After, MaxNameBytes)
	c.uint("limit", &m.Limit)
	c.bool("include_data", &m.IncludeData)
	enum(c, "consistency", &m.Consistency)
	m.ListSlots.fields(c)
}

func (m *SemaphoreListAnswer) answerFields(c *codec) {
	listField(c, "semaphores", &m.Semaphores)
	c.text("next", &m.Next, MaxNameBytes)
	listField(c, "missing", &m.Missing)
}

func (m *SemaphoreResize) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("limit", &m.Limit)
	c.uint("expected_revision", &m.ExpectedRevision)
}

func (m *SemaphoreResizeAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
}

func (m *Watch) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("since", &m.Since)
	c.bool("owners", &m.Owners)
	c.bool("data", &m.Data)
	enum(c, "object_kind", &m.ObjectKind)
	c.text("view", &m.View, MaxViewBytes)
	c.uint("generation", &m.Generation)
}

func (m *WatchAnswer) answerFields(c *codec) {
	enum(c, "object_kind", &m.ObjectKind)
}

func (m *WatchStop) requestFields(c *codec) {
	c.uint("watch_id", &m.WatchID)
}

func (*WatchStopAnswer) answerFields(*codec) {}

func (m *RolloutPut) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Put.Fields((*cold)(c))
}

func (m *RolloutPutAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.bool("created", &m.Created)
}

func (m *RolloutDelete) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.bool("force", &m.Force)
}

func (*RolloutDeleteAnswer) answerFields(*codec) {}

func (m *RolloutPublish) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Publication.Fields((*cold)(c))
}

func (m *RolloutPublishAnswer) answerFields(c *codec) {
	c.uint("seq", &m.Seq)
}

func (m *RolloutSource) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.SourceRole.Fields((*cold)(c))
}

func (m *RolloutSourceAnswer) answerFields(c *codec) {
	c.uint("source_id", &m.SourceID)
}

func (m *RolloutOffer) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Offering.Fields((*cold)(c))
}

func (m *RolloutOfferAnswer) answerFields(c *codec) {
	c.uint("seq", &m.Seq)
}

func (m *RolloutJoin) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Instance.Fields((*cold)(c))
}

func (m *RolloutJoinAnswer) answerFields(c *codec) {
	c.uint("instance_id", &m.InstanceID)
}

func (m *RolloutLeave) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
}

func (*RolloutLeaveAnswer) answerFields(*codec) {}

func (m *RolloutReady) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.bool("leader", &m.Leader)
}

func (*RolloutReadyAnswer) answerFields(*codec) {}

func (m *RolloutReport) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.record("report", m.Report.fields)
}

func (*RolloutReportAnswer) answerFields(*codec) {}

func (m *RolloutPoll) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.record("report", m.Report.fields)
}

func (m *RolloutPollAnswer) answerFields(c *codec) {
	c.record("target", m.Target.fields)
	c.uint("next_in_ms", &m.NextInMillis)
	c.bool("gone", &m.Gone)
}

func (m *RolloutAction) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.value("action", &m.Action)
}

func (m *RolloutActionAnswer) answerFields(c *codec) {
	c.uint("generation", &m.Generation)
}

func (m *RolloutGateReport) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.GateReport.Fields((*cold)(c))
}

func (*RolloutGateReportAnswer) answerFields(*codec) {}

func (m *RolloutDescribe) requestFields(c *codec) {
	m.SectionRequest.fields(c)
}

func (m *RolloutDescribeAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.uint("now_ms", &m.NowMillis)
	enum(c, "phase", &m.Phase)
	c.bytes("head", &m.Head, MaxDataBytes)
	listField(c, "rows", &m.Rows)
	c.uint("next", &m.Next)
	viewsField(c, "reasons", &m.Reasons)
}

func (m *RolloutList) requestFields(c *codec) {
	m.ListRequest.fields(c)
}

func (m *RolloutListAnswer) answerFields(c *codec) {
	viewsField(c, "rollouts", &m.Rollouts)
	c.text("next", &m.Next, MaxNameBytes)
	listField(c, "missing", &m.Missing)
}

func (m *RolloutPlan) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("takes_ms", &m.TakesMillis)
	c.bool("publish", &m.Publish)
	c.value("action", &m.Action)
	enum(c, "consistency", &m.Consistency)
}

func (m *RolloutPlanAnswer) answerFields(c *codec) {
	c.uint("now_ms", &m.NowMillis)
	viewsField(c, "steps", &m.Steps)
}

func (m *AccessChange) requestFields(c *codec) {
	m.Operation.fields(c)
	enum(c, "action", &m.Action)
	c.text("principal", &m.Principal, MaxPrincipalBytes)
	c.text("role", &m.Role, MaxAccessNameBytes)
	values(c, "rules", &m.Rules, access.MaxRules)
	values(c, "grants", &m.Grants, access.MaxGrants)
	c.bytes("hash", &m.Hash, MaxHashBytes)
	c.uint("expires_ms", &m.ExpiresMillis)
	values(c, "roles", &m.Roles, MaxPageItems)
	values(c, "principals", &m.Principals, MaxPageItems)
}

func (m *AccessChangeAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (m *AccessList) requestFields(c *codec) {
	c.bool("roles", &m.Roles)
	c.text("after", &m.After, MaxPrincipalBytes)
	c.uint("limit", &m.Limit)
	c.bool("export", &m.Export)
}

func (m *AccessListAnswer) answerFields(c *codec) {
	values(c, "roles", &m.Roles, MaxPageItems)
	values(c, "principals", &m.Principals, MaxPageItems)
	c.text("next", &m.Next, MaxPrincipalBytes)
	c.bool("open", &m.Open)
}

func (m *AccessCheckAnswer) answerFields(c *codec) {
	values(c, "decisions", &m.Decisions, MaxPageItems)
	c.bool("more", &m.More)
}

func (m *AccessDenials) requestFields(c *codec) {
	c.uint("limit", &m.Limit)
}

func (m *AccessDenialsAnswer) answerFields(c *codec) {
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	values(c, "denials", &m.Denials, MaxPageItems)
	c.uint("total", &m.Total)
}

func (m *HostLoad) requestFields(c *codec) {
	c.bool("traffic", &m.Traffic)
}

func (m *HostLoadAnswer) answerFields(c *codec) {
	c.uint("span_ms", &m.SpanMillis)
	c.uint("requests", &m.Requests)
	c.uint("failed", &m.Failed)
	c.uint("p50_us", &m.P50Micros)
	c.uint("p99_us", &m.P99Micros)
	c.uint("commit_p99_us", &m.CommitP99Micros)
	c.uint("disk_free_bytes", &m.DiskFreeBytes)
	c.uint("disk_total_bytes", &m.DiskTotalBytes)
	c.record("traffic", m.Traffic.fields)
}

func (m *ForwardedFor) requestFields(c *codec) {
	c.uint("request_id", &m.RequestID)
	c.text("address", &m.Address, MaxForwardedBytes)
}

func (*ForwardedForAnswer) answerFields(*codec) {}

func (*Health) requestFields(*codec) {}

func (m *HealthAnswer) answerFields(c *codec) {
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	c.uint("now_ms", &m.NowMillis)
	listField(c, "items", &m.Items)
	c.bool("governs", &m.Governs)
}

func (*BackupDescribe) requestFields(*codec) {}

func (m *BackupDescribeAnswer) answerFields(c *codec) {
	c.text("cluster_id", &m.ClusterID, MaxClusterIDBytes)
	c.record("generation", m.Generation.fields)
	listField(c, "shard_ids", &m.ShardIDs)
	c.uint("level", &m.Level)
	c.text("host_version", &m.HostVersion, MaxVersionBytes)
}

func (m *BackupBegin) requestFields(c *codec) {
	c.uint("shard_id", &m.ShardID)
}

func (m *BackupBeginAnswer) answerFields(c *codec) {
	c.uint("state_id", &m.StateID)
	c.uint("term", &m.Term)
	c.uint("index", &m.Index)
	listField(c, "slots", &m.Slots)
}

func (m *BackupRead) requestFields(c *codec) {
	c.uint("state_id", &m.StateID)
}

func (m *BackupReadAnswer) answerFields(c *codec) {
	c.bytes("piece", &m.Piece, PageBytes)
	c.bool("done", &m.Done)
}

func (m *BackupEnd) requestFields(c *codec) {
	c.uint("state_id", &m.StateID)
}

func (*BackupEndAnswer) answerFields(*codec) {}

func (m *SlotMove) requestFields(c *codec) {
	m.Operation.fields(c)
	c.uint("slot", &m.Slot)
	c.uint("shard_id", &m.ShardID)
	c.bool("large", &m.Large)
	c.bool("cancel", &m.Cancel)
}

func (m *SlotMoveAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (m *ShardUpdate) requestFields(c *codec) {
	m.Operation.fields(c)
	enum(c, "action", &m.Action)
	c.uint("count", &m.Count)
	listField(c, "shard_ids", &m.ShardIDs)
	c.uint("weight", &m.Weight)
}

func (m *ShardUpdateAnswer) answerFields(c *codec) {
	listField(c, "shard_ids", &m.ShardIDs)
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (m *Rebalance) requestFields(c *codec) {
	m.Operation.fields(c)
	enum(c, "action", &m.Action)
}

func (m *RebalanceAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (*RebalanceDescribe) requestFields(*codec) {}

func (m *RebalanceDescribeAnswer) answerFields(c *codec) {
	values(c, "shards", &m.Shards, MaxPageItems)
	values(c, "planned", &m.Planned, MaxPageItems)
	c.bool("paused", &m.Paused)
	c.bool("no_pacing", &m.NoPacing)
	c.text("author", &m.Author, MaxOperatorTextBytes)
	c.text("reason", &m.Reason, MaxOperatorTextBytes)
	c.uint("age_ms", &m.AgeMillis)
}

func (m *SlotList) requestFields(c *codec) {
	c.uint("shard_id", &m.ShardID)
	c.uint("from", &m.From)
}

func (m *SlotListAnswer) answerFields(c *codec) {
	c.uint("version", &m.Version)
	listField(c, "ranges", &m.Ranges)
	values(c, "moves", &m.Moves, host.MaxSlotMoves)
	c.uint("next", &m.Next)
}

func (m *ProcessPut) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Put.Fields((*cold)(c))
}

func (m *ProcessPutAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.bool("created", &m.Created)
}

func (m *ProcessDelete) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.bool("force", &m.Force)
}

func (*ProcessDeleteAnswer) answerFields(*codec) {}

func (m *ProcessJoin) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Arrival.Fields((*cold)(c))
}

func (m *ProcessJoinAnswer) answerFields(c *codec) {
	c.uint("member_id", &m.MemberID)
}

func (m *ProcessLeave) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("member_id", &m.MemberID)
}

func (*ProcessLeaveAnswer) answerFields(*codec) {}

func (m *ProcessPrepareAck) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Part.fields(c)
}

func (*ProcessPrepareAckAnswer) answerFields(*codec) {}

func (m *ProcessSend) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Part.fields(c)
	enum(c, "audience", &m.Audience)
	listField(c, "to", &m.To)
	c.bytes("payload", &m.Payload, MaxProcessPayloadBytes)
	c.uint("timeout_ms", &m.TimeoutMillis)
}

func (m *ProcessSendAnswer) answerFields(c *codec) {
	c.uint("exchange", &m.Exchange)
}

func (m *ProcessReply) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Part.fields(c)
	c.uint("exchange", &m.Exchange)
	c.bool("failed", &m.Failed)
	c.bytes("data", &m.Data, MaxProcessPayloadBytes)
}

func (*ProcessReplyAnswer) answerFields(*codec) {}

func (m *ProcessComplete) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Part.fields(c)
	c.bytes("result", &m.Result, MaxProcessPayloadBytes)
}

func (*ProcessCompleteAnswer) answerFields(*codec) {}

func (m *ProcessCompleteAck) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Part.fields(c)
}

func (*ProcessCompleteAckAnswer) answerFields(*codec) {}

func (m *ProcessFail) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Part.fields(c)
	c.text("text", &m.Text, MaxProcessFailureBytes)
}

func (*ProcessFailAnswer) answerFields(*codec) {}

func (m *InboxAck) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("member_id", &m.MemberID)
	c.uint("ack", &m.Ack)
}

func (*InboxAckAnswer) answerFields(*codec) {}

func (m *ProcessAction) requestFields(c *codec) {
	m.Mutation.fields(c)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	m.Action.Fields((*cold)(c))
}

func (*ProcessActionAnswer) answerFields(*codec) {}

func (m *ProcessDescribe) requestFields(c *codec) {
	m.SectionRequest.fields(c)
}

func (m *ProcessDescribeAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.uint("now_ms", &m.NowMillis)
	c.bytes("head", &m.Head, MaxDataBytes)
	listField(c, "rows", &m.Rows)
	c.uint("next", &m.Next)
	viewsField(c, "reasons", &m.Reasons)
}

func (m *ProcessList) requestFields(c *codec) {
	m.ListRequest.fields(c)
}

func (m *ProcessListAnswer) answerFields(c *codec) {
	viewsField(c, "processes", &m.Processes)
	c.text("next", &m.Next, MaxNameBytes)
	c.uint("now_ms", &m.NowMillis)
	listField(c, "missing", &m.Missing)
}

func (m *InboxOpen) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("member_id", &m.MemberID)
	c.uint("after", &m.After)
}

func (m *InboxOpenAnswer) answerFields(c *codec) {
	c.uint("acked", &m.Acked)
	c.uint("last_seq", &m.LastSeq)
}

func (m *SlotOffer) requestFields(c *codec) {
	c.uint("shard_id", &m.ShardID)
	c.uint("from", &m.From)
	c.uint("slot", &m.Slot)
	c.uint("generation", &m.Generation)
	c.bytes("content", &m.Content, MaxSlotBytes)
}

func (m *SlotOfferAnswer) answerFields(c *codec) {
	enum(c, "outcome", &m.Outcome)
	c.text("reason", &m.Reason, MaxOperatorTextBytes)
	c.bool("durable", &m.Durable)
}

func (m *HostBoot) requestFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.uint("start_number", &m.StartNumber)
	c.uint("start_nonce", &m.StartNonce)
	c.text("raft_address", &m.RaftAddress, MaxAddressBytes)
	c.text("client_address", &m.ClientAddress, MaxAddressBytes)
	c.text("admin_address", &m.AdminAddress, MaxAddressBytes)
	c.text("version", &m.Version, MaxVersionBytes)
	c.uint("level", &m.Level)
	c.text("domain", &m.Domain, MaxDomainBytes)
}

func (*HostBootAnswer) answerFields(*codec) {}

func (m *HostNotify) requestFields(c *codec) {
	enum(c, "event", &m.Event)
	c.uint("host_id", &m.HostID)
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.uint("start_number", &m.StartNumber)
	c.uint("start_nonce", &m.StartNonce)
	c.uint("epoch", &m.Epoch)
	c.text("raft_address", &m.RaftAddress, MaxAddressBytes)
	c.text("client_address", &m.ClientAddress, MaxAddressBytes)
	c.text("admin_address", &m.AdminAddress, MaxAddressBytes)
	c.uint("shard_id", &m.ShardID)
	c.uint("bytes", &m.Bytes)
	c.record("asked", m.Asked.fields)
	c.bytes("commands", &m.Commands, MaxReportBytes)
}

func (*HostNotifyAnswer) answerFields(*codec) {}

func (m *HostUpdate) requestFields(c *codec) {
	m.Operation.fields(c)
	enum(c, "action", &m.Action)
	c.text("host", &m.Host, MaxHostNameBytes)
	c.bool("force", &m.Force)
	c.text("domain", &m.Domain, MaxDomainBytes)
	c.text("successor", &m.Successor, MaxHostNameBytes)
	c.uint("weight", &m.Weight)
}

func (m *HostUpdateAnswer) answerFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (m *ShardTransferLeader) requestFields(c *codec) {
	m.Operation.fields(c)
	c.uint("shard_id", &m.ShardID)
	c.text("host", &m.Host, MaxHostNameBytes)
}

func (m *ShardTransferLeaderAnswer) answerFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (m *ShardRecover) requestFields(c *codec) {
	m.Operation.fields(c)
	c.uint("shard_id", &m.ShardID)
	c.bool("empty", &m.Empty)
	c.bool("accept_overlap", &m.AcceptOverlap)
}

func (m *ShardRecoverAnswer) answerFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.uint("since", &m.Since)
	c.uint("wait_ms", &m.WaitMillis)
	c.uint("longest_ms", &m.LongestMillis)
	c.uint("longest_session", &m.LongestSession)
}

func (m *ClusterDescribe) requestFields(c *codec) {
	enum(c, "consistency", &m.Consistency)
}

func (m *ClusterDescribeAnswer) answerFields(c *codec) {
	c.text("cluster_id", &m.ClusterID, MaxClusterIDBytes)
	c.record("generation", m.Generation.fields)
	c.uint("governor_host_id", &m.GovernorHostID)
	c.bool("observed", &m.Observed)
	values(c, "hosts", &m.Hosts, MaxPageItems)
	values(c, "shards", &m.Shards, MaxPageItems)
	c.value("policy", &m.Policy)
	listField(c, "health_issues", &m.HealthIssues)
	c.uint("last_audit", &m.LastAudit)
}

func (*ClusterPlan) requestFields(*codec) {}

func (m *ClusterPlanAnswer) answerFields(c *codec) {
	values(c, "steps", &m.Steps, MaxPageItems)
	values(c, "reasons", &m.Reasons, MaxPageItems)
	c.bool("truncated", &m.Truncated)
}

func (*ClusterWhy) requestFields(*codec) {}

func (m *ClusterWhyAnswer) answerFields(c *codec) {
	values(c, "steps", &m.Steps, MaxPageItems)
	values(c, "reasons", &m.Reasons, MaxPageItems)
}

func (m *StepCancel) requestFields(c *codec) {
	m.Operation.fields(c)
	c.uint("step_id", &m.StepID)
	c.text("subject", &m.Subject, MaxSubjectBytes)
	c.millis("hold_ms", &m.HoldMillis, MaxHoldMillis)
}

func (m *StepCancelAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (m *PolicySet) requestFields(c *codec) {
	m.Operation.fields(c)
	c.value("from", &m.From)
	c.value("to", &m.To)
}

func (m *PolicySetAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

func (m *AuditRead) requestFields(c *codec) {
	c.uint("from", &m.From)
	c.uint("limit", &m.Limit)
}

func (m *AuditReadAnswer) answerFields(c *codec) {
	values(c, "entries", &m.Entries, MaxPageItems)
	c.uint("next", &m.Next)
	c.uint("oldest", &m.Oldest)
	c.uint("newest", &m.Newest)
}

func (m *JoinToken) requestFields(c *codec) {
	m.Operation.fields(c)
	enum(c, "action", &m.Action)
	c.text("id", &m.ID, MaxWordBytes)
	c.bytes("hash", &m.Hash, MaxHashBytes)
	c.uint("valid_ms", &m.ValidMillis)
}

func (m *JoinTokenAnswer) answerFields(c *codec) {
	values(c, "tokens", &m.Tokens, MaxPageItems)
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
	listField(c, "addresses", &m.Addresses)
	c.bytes("authority", &m.Authority, MaxHashBytes)
}

func (m *ShardReport) requestFields(c *codec) {
	c.uint("term", &m.Term)
	c.uint("governor_host_id", &m.GovernorHostID)
	enum(c, "target", &m.Target)
	c.uint("target_epoch", &m.TargetEpoch)
	enum(c, "current", &m.Current)
	c.uint("current_epoch", &m.CurrentEpoch)
}

func (m *ShardReportAnswer) answerFields(c *codec) {
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.bool("fresh", &m.Fresh)
	c.uint("fresh_ms", &m.FreshMillis)
	c.uint("barrier_ms", &m.BarrierMillis)
	c.bool("disk_full", &m.DiskFull)
	listField(c, "led", &m.Led)
	listField(c, "held", &m.Held)
	listField(c, "counted", &m.Counted)
	listField(c, "leaderless", &m.Leaderless)
	c.record("speed", m.Speed.fields)
}

func (m *StepExecute) requestFields(c *codec) {
	c.uint("term", &m.Term)
	c.uint("step_id", &m.StepID)
	enum(c, "effect", &m.Effect)
	c.uint("shard_id", &m.ShardID)
	c.uint("replica_id", &m.ReplicaID)
	c.uint("host_id", &m.HostID)
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.uint("change", &m.Change)
	c.record("rebuild", m.Rebuild.fields)
	c.uint("into", &m.Into)
	c.uint("slot", &m.Slot)
	c.uint("generation", &m.Generation)
	c.bool("large", &m.Large)
}

func (m *StepExecuteAnswer) answerFields(c *codec) {
	enum(c, "outcome", &m.Outcome)
	c.text("reason", &m.Reason, MaxOperatorTextBytes)
}

func (m *SessionDetach) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.millis("left_ms", &m.LeftMillis, MaxSessionTimeoutMillis)
}

func (*SessionDetachAnswer) answerFields(*codec) {}

func (m *Granted) pushFields(c *codec) {
	c.uint("order_id", &m.OrderID)
}

func (*TimedOut) pushFields(*codec) {}

func (m *Aborted) pushFields(c *codec) {
	c.result(&m.Result)
}

func (m *WatchChanged) pushFields(c *codec) {
	c.bool("data", &m.Data)
	c.bool("owners", &m.Owners)
}

func (m *HoldingLost) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("order_id", &m.OrderID)
	enum(c, "reason", &m.Reason)
	enum(c, "object_kind", &m.ObjectKind)
	c.bytes("slots", &m.Slots, SlotSetBytes)
}

func (m *WatchSnapshot) pushFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.bool("first", &m.First)
	c.bool("last", &m.Last)
	c.bool("exists", &m.Exists)
	c.bool("ephemeral", &m.Ephemeral)
	c.uint("limit", &m.Limit)
	c.bytes("data", &m.Data, c.dataMax)
	listField(c, "owners", &m.Owners)
	listField(c, "rows", &m.Rows)
}

func (m *WatchDelta) pushFields(c *codec) {
	c.uint("from", &m.From)
	c.uint("to", &m.To)
	enum(c, "existence", &m.Existence)
	c.bool("data_changed", &m.DataChanged)
	c.bytes("data", &m.Data, c.dataMax)
	listField(c, "gone", &m.Gone)
	listField(c, "joined", &m.Joined)
	c.bool("ephemeral", &m.Ephemeral)
	c.uint("limit", &m.Limit)
	listField(c, "rows", &m.Rows)
}

func (*WatchResync) pushFields(*codec) {}

func (m *WatchEnd) pushFields(c *codec) {
	c.result(&m.Result)
}

func (m *SessionDetached) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.result(&m.Result)
}

func (m *SessionEnded) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	enum(c, "reason", &m.Reason)
}

func (m *RoutingChanged) pushFields(c *codec) {
	c.uint("version", &m.Version)
	c.uint("shard_id", &m.ShardID)
	c.uint("leader_host_id", &m.LeaderHostID)
	c.uint("term", &m.Term)
}

func (m *GoingAway) pushFields(c *codec) {
	c.result(&m.Result)
}

func (m *TokenExpiring) pushFields(c *codec) {
	c.text("token", &m.Token, MaxAccessNameBytes)
	c.uint("left_ms", &m.LeftMillis)
}

func (m *Inbox) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("member_id", &m.MemberID)
	listField(c, "items", &m.Items)
	c.result(&m.End)
}

func (m *ClientRequest) fields(c *codec) {
	c.text("author", &m.Author, MaxOperatorTextBytes)
	c.text("operation", &m.Operation, MaxOperatorTextBytes)
	c.text("reason", &m.Reason, MaxOperatorTextBytes)
}

func (m *ClientTraffic) fields(c *codec) {
	c.text("name", &m.Name, MaxClientNameBytes)
	c.text("principal", &m.Principal, MaxPrincipalBytes)
	c.text("address", &m.Address, MaxAddressBytes)
	c.uint("requests", &m.Requests)
}

func (m *CountedShard) fields(c *codec) {
	c.uint("shard_id", &m.ShardID)
	c.uint("last_order", &m.LastOrder)
	c.uint("last_revision", &m.LastRevision)
	c.uint("last_session", &m.LastSession)
}

func (m *FeatureLevel) fields(c *codec) {
	c.uint("cluster", &m.Cluster)
	c.uint("newest", &m.Newest)
	c.text("held_by", &m.HeldBy, MaxMessageBytes)
}

func (m *Generation) fields(c *codec) {
	c.uint("number", &m.Number)
	c.bytes("nonce", &m.Nonce, MaxIncarnationBytes)
}

func (m *HealthIssue) fields(c *codec) {
	m.Issue.Fields((*cold)(c))
}

func (m *HeldReplica) fields(c *codec) {
	c.uint("shard_id", &m.ShardID)
	c.uint("replica_id", &m.ReplicaID)
}

func (m *Holding) fields(c *codec) {
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("order_id", &m.OrderID)
	c.uint("count", &m.Count)
	c.bool("waiting", &m.Waiting)
	c.uint("since_ms", &m.SinceMillis)
	enum(c, "object_kind", &m.ObjectKind)
	c.text("role", &m.Role, MaxRoleBytes)
}

func (m *Host) fields(c *codec) {
	c.uint("id", &m.ID)
	c.text("name", &m.Name, MaxHostNameBytes)
	c.text("address", &m.Address, MaxAddressBytes)
	enum(c, "state", &m.State)
}

func (m *HostSpeed) fields(c *codec) {
	c.uint("sync_us", &m.SyncMicros)
	c.uint("delay_us", &m.DelayMicros)
	c.uint("round_us", &m.RoundMicros)
	c.uint("stalls", &m.Stalls)
}

func (m *Idempotency) fields(c *codec) {
	c.bytes("client", &m.Client, MaxClientIDBytes)
	c.uint("sequence", &m.Sequence)
	c.uint("since", &m.Since)
}

func (m *InstanceReport) fields(c *codec) {
	c.uint("current", &m.Current)
	c.uint("generation", &m.Generation)
	enum(c, "status", &m.Status)
	c.text("code", &m.Code, MaxWordBytes)
	c.text("text", &m.Text, MaxRolloutTextBytes)
	c.uint("attempts", &m.Attempts)
}

func (m *Item) fields(c *codec) {
	c.uint("seq", &m.Seq)
	enum(c, "kind", &m.Kind)
	c.uint("epoch", &m.Epoch)
	c.uint("members", &m.Members)
	c.uint("coordinator", &m.Coordinator)
	c.uint("exchange", &m.Exchange)
	c.uint("from", &m.From)
	c.bytes("payload", &m.Payload, MaxProcessPayloadBytes)
	enum(c, "outcome", &m.Outcome)
	listField(c, "replies", &m.Replies)
	c.bool("last", &m.Last)
	c.uint("missing", &m.Missing)
	listField(c, "missed", &m.Missed)
}

func (m *LeaderlessReplica) fields(c *codec) {
	c.uint("shard_id", &m.ShardID)
	c.uint("replica_id", &m.ReplicaID)
	c.uint("term", &m.Term)
	c.uint("index", &m.Index)
}

func (m *Lease) fields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.uint("timeout_ms", &m.TimeoutMillis)
	c.uint("grace_ms", &m.GraceMillis)
	c.record("config", m.Config.fields)
	listField(c, "lost", &m.Lost)
}

func (m *LedShard) fields(c *codec) {
	c.uint("id", &m.ID)
	c.uint("term", &m.Term)
	c.uint("led_ms", &m.LedMillis)
	c.uint("change", &m.Change)
	listField(c, "members", &m.Members)
	c.bool("idle", &m.Idle)
	c.uint("quota_percent", &m.QuotaPercent)
	c.uint("commit_us", &m.CommitMicros)
}

func (m *Limits) fields(c *codec) {
	c.uint("request_frame_bytes", &m.RequestFrameBytes)
	c.uint("answer_frame_bytes", &m.AnswerFrameBytes)
	c.uint("data_bytes", &m.DataBytes)
	c.uint("requests_in_flight", &m.RequestsInFlight)
	c.uint("watches", &m.Watches)
}

func (m *ListRequest) fields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.uint("shard_id", &m.ShardID)
	c.text("prefix", &m.Prefix, MaxNameBytes)
	c.text("after", &m.After, MaxNameBytes)
	c.uint("limit", &m.Limit)
	enum(c, "consistency", &m.Consistency)
	m.ListSlots.fields(c)
}

func (m *ListSlots) fields(c *codec) {
	listField(c, "slots", &m.Slots)
	c.uint("generation", &m.Generation)
}

func (m *Mutation) fields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.uint("sequence", &m.Sequence)
	c.uint("acknowledged_sequence", &m.AcknowledgedSequence)
}

func (m *Node) fields(c *codec) {
	c.uint("id", &m.ID)
	c.text("path", &m.Path, MaxPathBytes)
	c.record("config", m.Config.fields)
	c.uint("config_version", &m.ConfigVersion)
}

func (m *NodeConfig) fields(c *codec) {
	c.uint("self_check_period_ms", &m.SelfCheckPeriodMillis)
	c.uint("session_grace_period_ms", &m.SessionGracePeriodMillis)
	enum(c, "read_consistency", &m.ReadConsistency)
	enum(c, "attach_consistency", &m.AttachConsistency)
	enum(c, "rate_limiter_counters_mode", &m.RateLimiterCountersMode)
	c.uint("quota_objects", &m.QuotaObjects)
	c.uint("quota_bytes", &m.QuotaBytes)
	c.record("asked", m.Asked.fields)
	c.uint("longest_wait_ms", &m.LongestWaitMillis)
}

func (m *NodeTraffic) fields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.uint("requests", &m.Requests)
}

func (m *Operation) fields(c *codec) {
	c.record("idempotency", m.Idempotency.fields)
	c.text("author", &m.Author, MaxOperatorTextBytes)
	c.text("reason", &m.Reason, MaxOperatorTextBytes)
}

func (m *Owner) fields(c *codec) {
	c.uint("order_id", &m.OrderID)
	c.uint("session_id", &m.SessionID)
	c.uint("count", &m.Count)
	c.bytes("data", &m.Data, c.dataMax)
	c.uint("since_ms", &m.SinceMillis)
	c.record("client", m.Client.fields)
}

func (m *Part) fields(c *codec) {
	c.uint("member_id", &m.MemberID)
	c.uint("epoch", &m.Epoch)
	c.uint("ack", &m.Ack)
}

func (m *Quota) fields(c *codec) {
	enum(c, "kind", &m.Kind)
	c.uint("limit", &m.Limit)
	c.uint("used", &m.Used)
}

func (m *Rebuild) fields(c *codec) {
	c.uint("group", &m.Group)
	c.bool("empty", &m.Empty)
	c.uint("longest_ms", &m.LongestMillis)
	c.uint("longest_session", &m.LongestSession)
	c.uint("last_order", &m.LastOrder)
	c.uint("last_revision", &m.LastRevision)
	c.uint("last_session", &m.LastSession)
	c.uint("counted_ms", &m.CountedMillis)
	c.bool("fresh", &m.Fresh)
}

func (m *Reply) fields(c *codec) {
	c.uint("from", &m.From)
	c.bool("failed", &m.Failed)
	c.bytes("data", &m.Data, MaxProcessPayloadBytes)
}

func (m *RolloutTarget) fields(c *codec) {
	c.uint("generation", &m.Generation)
	c.uint("seq", &m.Seq)
	c.text("label", &m.Label, MaxRolloutTextBytes)
	c.bytes("payload", &m.Payload, MaxRolloutPayloadBytes)
}

func (m *Row) fields(c *codec) {
	c.uint("id", &m.ID)
	c.bytes("body", &m.Body, c.dataMax)
}

func (m *SectionRequest) fields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.text("section", &m.Section, MaxViewBytes)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
	c.bool("explain", &m.Explain)
	enum(c, "consistency", &m.Consistency)
	c.uint("generation", &m.Generation)
}

func (m *Semaphore) fields(c *codec) {
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("limit", &m.Limit)
	c.uint("count", &m.Count)
	c.uint("revision", &m.Revision)
	c.uint("owners", &m.Owners)
	c.uint("waiters", &m.Waiters)
	c.bool("ephemeral", &m.Ephemeral)
	c.bytes("data", &m.Data, c.dataMax)
}

func (m *Session) fields(c *codec) {
	c.uint("id", &m.ID)
	c.uint("node_id", &m.NodeID)
	c.uint("timeout_ms", &m.TimeoutMillis)
	c.value("details", &m.Details)
	c.bool("attached", &m.Attached)
	c.uint("owned", &m.Owned)
	c.uint("waiting", &m.Waiting)
	c.uint("since_ms", &m.SinceMillis)
	c.record("client", m.Client.fields)
}

func (m *Shard) fields(c *codec) {
	c.uint("id", &m.ID)
	c.uint("leader_host_id", &m.LeaderHostID)
	listField(c, "replica_host_ids", &m.ReplicaHostIDs)
}

func (m *ShardMember) fields(c *codec) {
	c.uint("replica_id", &m.ReplicaID)
	c.uint("host_id", &m.HostID)
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.bool("voter", &m.Voter)
	c.uint("index", &m.Index)
	c.uint("behind_ms", &m.BehindMillis)
	c.bool("tried", &m.Tried)
	c.uint("silent_ms", &m.SilentMillis)
	c.uint("snapshot_percent", &m.SnapshotPercent)
	c.uint("snapshot_rate", &m.SnapshotRate)
}

func (m *ShardStatus) fields(c *codec) {
	c.uint("id", &m.ID)
	c.uint("leader_host_id", &m.LeaderHostID)
	c.uint("term", &m.Term)
	c.uint("applied_index", &m.AppliedIndex)
	c.uint("commit_lag", &m.CommitLag)
	c.uint("sessions", &m.Sessions)
	c.uint("semaphores", &m.Semaphores)
	c.uint("waiters", &m.Waiters)
	c.uint("rollouts", &m.Rollouts)
	c.uint("processes", &m.Processes)
}

func (m *SlotRange) fields(c *codec) {
	c.uint("first", &m.First)
	c.uint("last", &m.Last)
	c.uint("shard_id", &m.ShardID)
	c.uint("generation", &m.Generation)
}

func (m *Traffic) fields(c *codec) {
	c.uint("span_ms", &m.SpanMillis)
	c.uint("requests", &m.Requests)
	listField(c, "clients", &m.Clients)
	listField(c, "nodes", &m.Nodes)
}

func (m *Waiter) fields(c *codec) {
	c.uint("order_id", &m.OrderID)
	c.uint("session_id", &m.SessionID)
	c.uint("count", &m.Count)
	c.bytes("data", &m.Data, c.dataMax)
	c.uint("timeout_ms", &m.TimeoutMillis)
	c.uint("since_ms", &m.SinceMillis)
	c.record("client", m.Client.fields)
}

func (m *LostHoldings) fields(c *codec) {
	c.uint("fence", &m.Fence)
	c.bytes("slots", &m.Slots, SlotSetBytes)
}

func (m *AskedConfig) fields(c *codec) {
	c.uint("self_check_period_ms", &m.SelfCheckPeriodMillis)
	c.uint("session_grace_period_ms", &m.SessionGracePeriodMillis)
	c.uint("read_consistency", &m.ReadConsistency)
	c.uint("attach_consistency", &m.AttachConsistency)
	c.uint("rate_limiter_counters_mode", &m.RateLimiterCountersMode)
}

func (m *ClientInfo) fields(c *codec) {
	c.text("address", &m.Address, MaxAddressBytes)
	c.text("name", &m.Name, MaxClientNameBytes)
	c.text("version", &m.Version, MaxVersionBytes)
}

func (m *ClientTraffic) item(c *codec) { c.record("", m.fields) }

func (m *CountedShard) item(c *codec) { c.record("", m.fields) }

func (m *HealthIssue) item(c *codec) { c.record("", m.fields) }

func (m *HeldReplica) item(c *codec) { c.record("", m.fields) }

func (m *Holding) item(c *codec) { c.record("", m.fields) }

func (m *Host) item(c *codec) { c.record("", m.fields) }

func (m *Item) item(c *codec) { c.record("", m.fields) }

func (m *LeaderlessReplica) item(c *codec) { c.record("", m.fields) }

func (m *LedShard) item(c *codec) { c.record("", m.fields) }

func (m *Node) item(c *codec) { c.record("", m.fields) }

func (m *NodeTraffic) item(c *codec) { c.record("", m.fields) }

func (m *Owner) item(c *codec) { c.record("", m.fields) }

func (m *Reply) item(c *codec) { c.record("", m.fields) }

func (m *Row) item(c *codec) { c.record("", m.fields) }

func (m *Semaphore) item(c *codec) { c.record("", m.fields) }

func (m *Session) item(c *codec) { c.record("", m.fields) }

func (m *Shard) item(c *codec) { c.record("", m.fields) }

func (m *ShardMember) item(c *codec) { c.record("", m.fields) }

func (m *ShardStatus) item(c *codec) { c.record("", m.fields) }

func (m *SlotRange) item(c *codec) { c.record("", m.fields) }

func (m *Waiter) item(c *codec) { c.record("", m.fields) }

func (m *LostHoldings) item(c *codec) { c.record("", m.fields) }
