package protocol

import "github.com/signalbox/signalbox/protocol/level"

// This file is the table of the protocol. A new operation gets its number, its row, and its places in Request and
// Answer here. With the row the decoders read the kind, errors print its name, and peers announce a number of the
// second block. Tests name the other files to change.

// Requests go from the client to the host. Each request is answered once, with the kind that is larger by AnswerOffset.
const (
	KindHello             Kind = 1
	KindPing              Kind = 2
	KindRouting           Kind = 3
	KindHostStatus        Kind = 4
	KindNodeCreate        Kind = 8
	KindNodeDescribe      Kind = 9
	KindNodeAlter         Kind = 10
	KindNodeDrop          Kind = 11
	KindNodeList          Kind = 12
	KindSessionStart      Kind = 16
	KindSessionAttach     Kind = 17
	KindSessionBind       Kind = 18
	KindSessionStop       Kind = 19
	KindSessionDestroy    Kind = 20
	KindSessionDescribe   Kind = 21
	KindSessionList       Kind = 22
	KindSessionHoldings   Kind = 23
	KindSemaphoreCreate   Kind = 24
	KindSemaphoreUpdate   Kind = 25
	KindSemaphoreDelete   Kind = 26
	KindAcquire           Kind = 27
	KindRelease           Kind = 28
	KindSemaphoreDescribe Kind = 29
	KindSemaphoreList     Kind = 30
	KindSemaphoreResize   Kind = 31
	KindWatch             Kind = 32
	KindWatchStop         Kind = 33

	KindRolloutPut      Kind = 128
	KindRolloutDelete   Kind = 129
	KindRolloutPublish  Kind = 130
	KindRolloutSource   Kind = 131
	KindRolloutOffer    Kind = 132
	KindRolloutJoin     Kind = 133
	KindRolloutLeave    Kind = 134
	KindRolloutRole     Kind = 135
	KindRolloutReport   Kind = 136
	KindRolloutAsk      Kind = 137
	KindRolloutAct      Kind = 138
	KindRolloutGate     Kind = 139
	KindRolloutDescribe Kind = 140
	KindRolloutList     Kind = 141
	KindRolloutPlan     Kind = 142

	KindAccessChange  Kind = 144
	KindAccessList    Kind = 145
	KindAccessAsk     Kind = 146
	KindAccessDenials Kind = 147

	KindHostLoad Kind = 148
	KindOnBehalf Kind = 149
	KindConcerns Kind = 150

	KindShardRecover Kind = 151

	KindBackupDescribe Kind = 152
	KindBackupBegin    Kind = 153
	KindBackupRead     Kind = 154
	KindBackupEnd      Kind = 155

	KindProcessPut       Kind = 160
	KindProcessDelete    Kind = 161
	KindProcessJoin      Kind = 162
	KindProcessLeave     Kind = 163
	KindProcessPrepared  Kind = 164
	KindProcessSend      Kind = 165
	KindProcessReply     Kind = 166
	KindProcessComplete  Kind = 167
	KindProcessCompleted Kind = 168
	KindProcessFail      Kind = 169
	KindInboxAck         Kind = 170
	KindProcessAct       Kind = 171
	KindProcessDescribe  Kind = 172
	KindProcessList      Kind = 173
	KindInboxOpen        Kind = 174

	// A host sends the next two requests to the leader of the meta shard.
	KindHostBoot Kind = 177
	KindHostSay  Kind = 178

	KindHostOperate     Kind = 179
	KindShardTransfer   Kind = 180
	KindClusterDescribe Kind = 181
	KindClusterPlan     Kind = 182
	KindClusterWhy      Kind = 183
	KindStepCancel      Kind = 184
	KindPolicy          Kind = 185
	KindAuditRead       Kind = 186
	KindToken           Kind = 187

	// The next two requests go between hosts only.
	KindShardReport Kind = 188
	KindStepEffect  Kind = 189

	KindSessionDetach Kind = 190
)

// Pushes go from the host to the client, unasked or as the later outcome of a request.
const (
	KindGranted         Kind = 112
	KindTimedOut        Kind = 113
	KindAborted         Kind = 114
	KindChanged         Kind = 115
	KindHoldingLost     Kind = 116
	KindWatchSnapshot   Kind = 117
	KindWatchDelta      Kind = 118
	KindWatchResync     Kind = 119
	KindWatchEnd        Kind = 120
	KindSessionDetached Kind = 121
	KindSessionEnded    Kind = 122
	KindRoutingChanged  Kind = 123
	KindGoingAway       Kind = 124

	KindInbox    Kind = 256
	KindExpiring Kind = 260
)

// requestRow describes one kind of request: the name, the level that brings the kind, the needed right, and the places
// of the request and of its answer in the results of the decoders.
type requestRow struct {
	name    string
	level   level.Level
	right   Right
	request func(*Request) RequestMessage
	answer  func(*Answer) AnswerMessage
}

// pushRow describes one kind of push.
type pushRow struct {
	name  string
	level level.Level
	push  func(*Answer) PushMessage
}

// requests has a row for every kind of request, in both blocks.
var requests = [maxRequest2 + 1]requestRow{
	KindHello: {"HELLO", 1, RightOpen,
		func(r *Request) RequestMessage { return &r.Hello },
		func(a *Answer) AnswerMessage { return &a.Welcome }},
	KindPing: {"PING", 1, RightOpen,
		func(r *Request) RequestMessage { return &r.Ping },
		func(a *Answer) AnswerMessage { return &a.Pong }},
	KindRouting: {"ROUTING", 1, RightOpen,
		func(r *Request) RequestMessage { return &r.Routing },
		func(a *Answer) AnswerMessage { return &a.Routing }},
	KindHostStatus: {"HOST_STATUS", 1, RightSee,
		func(r *Request) RequestMessage { return &r.HostStatus },
		func(a *Answer) AnswerMessage { return &a.HostStatus }},
	KindNodeCreate: {"NODE_CREATE", 1, RightAdmin,
		func(r *Request) RequestMessage { return &r.NodeCreate },
		func(a *Answer) AnswerMessage { return &a.NodeCreate }},
	KindNodeDescribe: {"NODE_DESCRIBE", 1, RightSee,
		func(r *Request) RequestMessage { return &r.NodeDescribe },
		func(a *Answer) AnswerMessage { return &a.NodeDescribe }},
	KindNodeAlter: {"NODE_ALTER", 1, RightAdmin,
		func(r *Request) RequestMessage { return &r.NodeAlter },
		func(a *Answer) AnswerMessage { return &a.NodeAlter }},
	KindNodeDrop: {"NODE_DROP", 1, RightAdmin,
		func(r *Request) RequestMessage { return &r.NodeDrop },
		func(a *Answer) AnswerMessage { return &a.NodeDrop }},
	KindNodeList: {"NODE_LIST", 1, RightSee,
		func(r *Request) RequestMessage { return &r.NodeList },
		func(a *Answer) AnswerMessage { return &a.NodeList }},
	KindSessionStart: {"SESSION_START", 1, RightSession,
		func(r *Request) RequestMessage { return &r.SessionStart },
		func(a *Answer) AnswerMessage { return &a.SessionStart }},
	KindSessionAttach: {"SESSION_ATTACH", 1, RightSession,
		func(r *Request) RequestMessage { return &r.SessionAttach },
		func(a *Answer) AnswerMessage { return &a.SessionAttach }},
	KindSessionBind: {"SESSION_BIND", 1, RightSession,
		func(r *Request) RequestMessage { return &r.SessionBind },
		func(a *Answer) AnswerMessage { return &a.SessionBind }},
	KindSessionStop: {"SESSION_STOP", 1, RightSession,
		func(r *Request) RequestMessage { return &r.SessionStop },
		func(a *Answer) AnswerMessage { return &a.SessionStop }},
	KindSessionDestroy: {"SESSION_DESTROY", 1, RightOperate,
		func(r *Request) RequestMessage { return &r.SessionDestroy },
		func(a *Answer) AnswerMessage { return &a.SessionDestroy }},
	KindSessionDescribe: {"SESSION_DESCRIBE", 1, RightSee,
		func(r *Request) RequestMessage { return &r.SessionDescribe },
		func(a *Answer) AnswerMessage { return &a.SessionDescribe }},
	KindSessionList: {"SESSION_LIST", 1, RightSee,
		func(r *Request) RequestMessage { return &r.SessionList },
		func(a *Answer) AnswerMessage { return &a.SessionList }},
	KindSessionHoldings: {"SESSION_HOLDINGS", 1, RightSee,
		func(r *Request) RequestMessage { return &r.SessionHoldings },
		func(a *Answer) AnswerMessage { return &a.SessionHoldings }},
	KindSemaphoreCreate: {"SEMAPHORE_CREATE", 1, RightWrite,
		func(r *Request) RequestMessage { return &r.SemaphoreCreate },
		func(a *Answer) AnswerMessage { return &a.SemaphoreCreate }},
	KindSemaphoreUpdate: {"SEMAPHORE_UPDATE", 1, RightWrite,
		func(r *Request) RequestMessage { return &r.SemaphoreUpdate },
		func(a *Answer) AnswerMessage { return &a.SemaphoreUpdate }},
	KindSemaphoreDelete: {"SEMAPHORE_DELETE", 1, RightDelete,
		func(r *Request) RequestMessage { return &r.SemaphoreDelete },
		func(a *Answer) AnswerMessage { return &a.SemaphoreDelete }},
	KindAcquire: {"ACQUIRE", 1, RightAcquire,
		func(r *Request) RequestMessage { return &r.Acquire },
		func(a *Answer) AnswerMessage { return &a.Acquire }},
	KindRelease: {"RELEASE", 1, RightAcquire,
		func(r *Request) RequestMessage { return &r.Release },
		func(a *Answer) AnswerMessage { return &a.Release }},
	KindSemaphoreDescribe: {"SEMAPHORE_DESCRIBE", 1, RightSee,
		func(r *Request) RequestMessage { return &r.SemaphoreDescribe },
		func(a *Answer) AnswerMessage { return &a.SemaphoreDescribe }},
	KindSemaphoreList: {"SEMAPHORE_LIST", 1, RightSee,
		func(r *Request) RequestMessage { return &r.SemaphoreList },
		func(a *Answer) AnswerMessage { return &a.SemaphoreList }},
	KindSemaphoreResize: {"SEMAPHORE_RESIZE", 2, RightWrite,
		func(r *Request) RequestMessage { return &r.SemaphoreResize },
		func(a *Answer) AnswerMessage { return &a.SemaphoreResize }},
	KindWatch: {"WATCH", 1, RightSee,
		func(r *Request) RequestMessage { return &r.Watch },
		func(a *Answer) AnswerMessage { return &a.Watch }},
	KindWatchStop: {"WATCH_STOP", 1, RightOpen,
		func(r *Request) RequestMessage { return &r.WatchStop },
		func(a *Answer) AnswerMessage { return &a.WatchStop }},
	KindRolloutPut: {"ROLLOUT_PUT", 4, RightOperate,
		func(r *Request) RequestMessage { return &r.RolloutPut },
		func(a *Answer) AnswerMessage { return &a.RolloutPut }},
	KindRolloutDelete: {"ROLLOUT_DELETE", 4, RightDelete,
		func(r *Request) RequestMessage { return &r.RolloutDelete },
		func(a *Answer) AnswerMessage { return &a.RolloutDelete }},
	KindRolloutPublish: {"ROLLOUT_PUBLISH", 4, RightWrite,
		func(r *Request) RequestMessage { return &r.RolloutPublish },
		func(a *Answer) AnswerMessage { return &a.RolloutPublish }},
	KindRolloutSource: {"ROLLOUT_SOURCE", 4, RightWrite,
		func(r *Request) RequestMessage { return &r.RolloutSource },
		func(a *Answer) AnswerMessage { return &a.RolloutSource }},
	KindRolloutOffer: {"ROLLOUT_OFFER", 4, RightWrite,
		func(r *Request) RequestMessage { return &r.RolloutOffer },
		func(a *Answer) AnswerMessage { return &a.RolloutOffer }},
	KindRolloutJoin: {"ROLLOUT_JOIN", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.RolloutJoin },
		func(a *Answer) AnswerMessage { return &a.RolloutJoin }},
	KindRolloutLeave: {"ROLLOUT_LEAVE", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.RolloutLeave },
		func(a *Answer) AnswerMessage { return &a.RolloutLeave }},
	KindRolloutRole: {"ROLLOUT_ROLE", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.RolloutRole },
		func(a *Answer) AnswerMessage { return &a.RolloutRole }},
	KindRolloutReport: {"ROLLOUT_REPORT", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.RolloutReport },
		func(a *Answer) AnswerMessage { return &a.RolloutReport }},
	KindRolloutAsk: {"ROLLOUT_ASK", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.RolloutAsk },
		func(a *Answer) AnswerMessage { return &a.RolloutAsk }},
	KindRolloutAct: {"ROLLOUT_ACT", 4, RightOperate,
		func(r *Request) RequestMessage { return &r.RolloutAct },
		func(a *Answer) AnswerMessage { return &a.RolloutAct }},
	KindRolloutGate: {"ROLLOUT_GATE", 4, RightWrite,
		func(r *Request) RequestMessage { return &r.RolloutGate },
		func(a *Answer) AnswerMessage { return &a.RolloutGate }},
	KindRolloutDescribe: {"ROLLOUT_DESCRIBE", 4, RightSee,
		func(r *Request) RequestMessage { return &r.RolloutDescribe },
		func(a *Answer) AnswerMessage { return &a.RolloutDescribe }},
	KindRolloutList: {"ROLLOUT_LIST", 4, RightSee,
		func(r *Request) RequestMessage { return &r.RolloutList },
		func(a *Answer) AnswerMessage { return &a.RolloutList }},
	KindRolloutPlan: {"ROLLOUT_PLAN", 4, RightSee,
		func(r *Request) RequestMessage { return &r.RolloutPlan },
		func(a *Answer) AnswerMessage { return &a.RolloutPlan }},
	KindAccessChange: {"ACCESS_CHANGE", 4, RightAdmin,
		func(r *Request) RequestMessage { return &r.AccessChange },
		func(a *Answer) AnswerMessage { return &a.AccessChange }},
	KindAccessList: {"ACCESS_LIST", 4, RightAdmin,
		func(r *Request) RequestMessage { return &r.AccessList },
		func(a *Answer) AnswerMessage { return &a.AccessList }},
	KindAccessAsk: {"ACCESS_ASK", 4, RightAdmin,
		func(r *Request) RequestMessage { return &r.AccessAsk },
		func(a *Answer) AnswerMessage { return &a.AccessAsk }},
	KindAccessDenials: {"ACCESS_DENIALS", 4, RightAdmin,
		func(r *Request) RequestMessage { return &r.AccessDenials },
		func(a *Answer) AnswerMessage { return &a.AccessDenials }},
	KindHostLoad: {"HOST_LOAD", 5, RightSee,
		func(r *Request) RequestMessage { return &r.HostLoad },
		func(a *Answer) AnswerMessage { return &a.HostLoad }},
	KindOnBehalf: {"ON_BEHALF", 6, RightOpen,
		func(r *Request) RequestMessage { return &r.OnBehalf },
		func(a *Answer) AnswerMessage { return &a.OnBehalf }},
	KindConcerns: {"CONCERNS", 7, RightSee,
		func(r *Request) RequestMessage { return &r.Concerns },
		func(a *Answer) AnswerMessage { return &a.Concerns }},
	KindBackupDescribe: {"BACKUP_DESCRIBE", 4, RightBackup,
		func(r *Request) RequestMessage { return &r.BackupDescribe },
		func(a *Answer) AnswerMessage { return &a.BackupDescribe }},
	KindBackupBegin: {"BACKUP_BEGIN", 4, RightBackup,
		func(r *Request) RequestMessage { return &r.BackupBegin },
		func(a *Answer) AnswerMessage { return &a.BackupBegin }},
	KindBackupRead: {"BACKUP_READ", 4, RightBackup,
		func(r *Request) RequestMessage { return &r.BackupRead },
		func(a *Answer) AnswerMessage { return &a.BackupRead }},
	KindBackupEnd: {"BACKUP_END", 4, RightBackup,
		func(r *Request) RequestMessage { return &r.BackupEnd },
		func(a *Answer) AnswerMessage { return &a.BackupEnd }},
	KindProcessPut: {"PROCESS_PUT", 4, RightOperate,
		func(r *Request) RequestMessage { return &r.ProcessPut },
		func(a *Answer) AnswerMessage { return &a.ProcessPut }},
	KindProcessDelete: {"PROCESS_DELETE", 4, RightDelete,
		func(r *Request) RequestMessage { return &r.ProcessDelete },
		func(a *Answer) AnswerMessage { return &a.ProcessDelete }},
	KindProcessJoin: {"PROCESS_JOIN", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.ProcessJoin },
		func(a *Answer) AnswerMessage { return &a.ProcessJoin }},
	KindProcessLeave: {"PROCESS_LEAVE", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.ProcessLeave },
		func(a *Answer) AnswerMessage { return &a.ProcessLeave }},
	KindProcessPrepared: {"PROCESS_PREPARED", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.ProcessPrepared },
		func(a *Answer) AnswerMessage { return &a.ProcessPrepared }},
	KindProcessSend: {"PROCESS_SEND", 4, RightWrite,
		func(r *Request) RequestMessage { return &r.ProcessSend },
		func(a *Answer) AnswerMessage { return &a.ProcessSend }},
	KindProcessReply: {"PROCESS_REPLY", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.ProcessReply },
		func(a *Answer) AnswerMessage { return &a.ProcessReply }},
	KindProcessComplete: {"PROCESS_COMPLETE", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.ProcessComplete },
		func(a *Answer) AnswerMessage { return &a.ProcessComplete }},
	KindProcessCompleted: {"PROCESS_COMPLETED", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.ProcessCompleted },
		func(a *Answer) AnswerMessage { return &a.ProcessCompleted }},
	KindProcessFail: {"PROCESS_FAIL", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.ProcessFail },
		func(a *Answer) AnswerMessage { return &a.ProcessFail }},
	KindInboxAck: {"INBOX_ACK", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.InboxAck },
		func(a *Answer) AnswerMessage { return &a.InboxAck }},
	KindProcessAct: {"PROCESS_ACT", 4, RightOperate,
		func(r *Request) RequestMessage { return &r.ProcessAct },
		func(a *Answer) AnswerMessage { return &a.ProcessAct }},
	KindProcessDescribe: {"PROCESS_DESCRIBE", 4, RightSee,
		func(r *Request) RequestMessage { return &r.ProcessDescribe },
		func(a *Answer) AnswerMessage { return &a.ProcessDescribe }},
	KindProcessList: {"PROCESS_LIST", 4, RightSee,
		func(r *Request) RequestMessage { return &r.ProcessList },
		func(a *Answer) AnswerMessage { return &a.ProcessList }},
	KindInboxOpen: {"INBOX_OPEN", 4, RightAcquire,
		func(r *Request) RequestMessage { return &r.InboxOpen },
		func(a *Answer) AnswerMessage { return &a.InboxOpen }},
	KindHostBoot: {"HOST_BOOT", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.HostBoot },
		func(a *Answer) AnswerMessage { return &a.HostBoot }},
	KindHostSay: {"HOST_SAY", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.HostSay },
		func(a *Answer) AnswerMessage { return &a.HostSay }},
	KindHostOperate: {"HOST_OPERATE", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.HostOperate },
		func(a *Answer) AnswerMessage { return &a.HostOperate }},
	KindShardTransfer: {"SHARD_TRANSFER", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.ShardTransfer },
		func(a *Answer) AnswerMessage { return &a.ShardTransfer }},
	KindShardRecover: {"SHARD_RECOVER", 10, RightCluster,
		func(r *Request) RequestMessage { return &r.ShardRecover },
		func(a *Answer) AnswerMessage { return &a.ShardRecover }},
	KindClusterDescribe: {"CLUSTER_DESCRIBE", 4, RightSee,
		func(r *Request) RequestMessage { return &r.ClusterDescribe },
		func(a *Answer) AnswerMessage { return &a.ClusterDescribe }},
	KindClusterPlan: {"CLUSTER_PLAN", 4, RightSee,
		func(r *Request) RequestMessage { return &r.ClusterPlan },
		func(a *Answer) AnswerMessage { return &a.ClusterPlan }},
	KindClusterWhy: {"CLUSTER_WHY", 4, RightSee,
		func(r *Request) RequestMessage { return &r.ClusterWhy },
		func(a *Answer) AnswerMessage { return &a.ClusterWhy }},
	KindStepCancel: {"STEP_CANCEL", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.StepCancel },
		func(a *Answer) AnswerMessage { return &a.StepCancel }},
	KindPolicy: {"POLICY", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.Policy },
		func(a *Answer) AnswerMessage { return &a.Policy }},
	KindAuditRead: {"AUDIT_READ", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.AuditRead },
		func(a *Answer) AnswerMessage { return &a.AuditRead }},
	KindToken: {"TOKEN", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.Token },
		func(a *Answer) AnswerMessage { return &a.Token }},
	KindShardReport: {"SHARD_REPORT", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.ShardReport },
		func(a *Answer) AnswerMessage { return &a.ShardReport }},
	KindStepEffect: {"STEP_EFFECT", 4, RightCluster,
		func(r *Request) RequestMessage { return &r.StepEffect },
		func(a *Answer) AnswerMessage { return &a.StepEffect }},
	KindSessionDetach: {"SESSION_DETACH", 4, RightSession,
		func(r *Request) RequestMessage { return &r.SessionDetach },
		func(a *Answer) AnswerMessage { return &a.SessionDetach }},
}

// pushes has a row for every kind of push, by its distance from the first kind of a push.
var pushes = [maxPush2 - minPush1 + 1]pushRow{
	KindGranted - minPush1:         {"GRANTED", 1, func(a *Answer) PushMessage { return &a.Granted }},
	KindTimedOut - minPush1:        {"TIMED_OUT", 1, func(a *Answer) PushMessage { return &a.TimedOut }},
	KindAborted - minPush1:         {"ABORTED", 1, func(a *Answer) PushMessage { return &a.Aborted }},
	KindChanged - minPush1:         {"CHANGED", 1, func(a *Answer) PushMessage { return &a.Changed }},
	KindHoldingLost - minPush1:     {"HOLDING_LOST", 1, func(a *Answer) PushMessage { return &a.HoldingLost }},
	KindWatchSnapshot - minPush1:   {"WATCH_SNAPSHOT", 1, func(a *Answer) PushMessage { return &a.WatchSnapshot }},
	KindWatchDelta - minPush1:      {"WATCH_DELTA", 1, func(a *Answer) PushMessage { return &a.WatchDelta }},
	KindWatchResync - minPush1:     {"WATCH_RESYNC", 1, func(a *Answer) PushMessage { return &a.WatchResync }},
	KindWatchEnd - minPush1:        {"WATCH_END", 1, func(a *Answer) PushMessage { return &a.WatchEnd }},
	KindSessionDetached - minPush1: {"SESSION_DETACHED", 1, func(a *Answer) PushMessage { return &a.SessionDetached }},
	KindSessionEnded - minPush1:    {"SESSION_ENDED", 1, func(a *Answer) PushMessage { return &a.SessionEnded }},
	KindRoutingChanged - minPush1:  {"ROUTING_CHANGED", 1, func(a *Answer) PushMessage { return &a.RoutingChanged }},
	KindGoingAway - minPush1:       {"GOING_AWAY", 1, func(a *Answer) PushMessage { return &a.GoingAway }},
	KindExpiring - minPush1:        {"EXPIRING", 4, func(a *Answer) PushMessage { return &a.Expiring }},
	KindInbox - minPush1:           {"INBOX", 4, func(a *Answer) PushMessage { return &a.Inbox }},
}
