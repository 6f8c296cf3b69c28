package protocol

import "github.com/signalbox/signalbox/protocol/level"

// This file is the table of the protocol. A new operation gets its number and its row here. With the row the decoders
// read the kind, errors print its name, and peers announce a number of the second block. messages_gen.go follows from
// the table: the places of messages in Request and Answer, and the kinds of their types, which have the names of the
// kinds. Tests name the other files to change.

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

// requestRow describes one kind of request: the name, the level that brings the kind, and the needed right.
type requestRow struct {
	name  string
	level level.Level
	right Right
}

// requestPlace has the places of a request and of its answer in the results of the decoders.
type requestPlace struct {
	request func(*Request) RequestMessage
	answer  func(*Answer) AnswerMessage
}

// pushRow describes one kind of push.
type pushRow struct {
	name  string
	level level.Level
}

// requests has a row for every kind of request, in both blocks.
var requests = [maxRequest2 + 1]requestRow{
	KindHello:             {"HELLO", 1, RightOpen},
	KindPing:              {"PING", 1, RightOpen},
	KindRouting:           {"ROUTING", 1, RightOpen},
	KindHostStatus:        {"HOST_STATUS", 1, RightSee},
	KindNodeCreate:        {"NODE_CREATE", 1, RightAdmin},
	KindNodeDescribe:      {"NODE_DESCRIBE", 1, RightSee},
	KindNodeAlter:         {"NODE_ALTER", 1, RightAdmin},
	KindNodeDrop:          {"NODE_DROP", 1, RightAdmin},
	KindNodeList:          {"NODE_LIST", 1, RightSee},
	KindSessionStart:      {"SESSION_START", 1, RightSession},
	KindSessionAttach:     {"SESSION_ATTACH", 1, RightSession},
	KindSessionBind:       {"SESSION_BIND", 1, RightSession},
	KindSessionStop:       {"SESSION_STOP", 1, RightSession},
	KindSessionDestroy:    {"SESSION_DESTROY", 1, RightOperate},
	KindSessionDescribe:   {"SESSION_DESCRIBE", 1, RightSee},
	KindSessionList:       {"SESSION_LIST", 1, RightSee},
	KindSessionHoldings:   {"SESSION_HOLDINGS", 1, RightSee},
	KindSemaphoreCreate:   {"SEMAPHORE_CREATE", 1, RightWrite},
	KindSemaphoreUpdate:   {"SEMAPHORE_UPDATE", 1, RightWrite},
	KindSemaphoreDelete:   {"SEMAPHORE_DELETE", 1, RightDelete},
	KindAcquire:           {"ACQUIRE", 1, RightAcquire},
	KindRelease:           {"RELEASE", 1, RightAcquire},
	KindSemaphoreDescribe: {"SEMAPHORE_DESCRIBE", 1, RightSee},
	KindSemaphoreList:     {"SEMAPHORE_LIST", 1, RightSee},
	KindSemaphoreResize:   {"SEMAPHORE_RESIZE", 2, RightWrite},
	KindWatch:             {"WATCH", 1, RightSee},
	KindWatchStop:         {"WATCH_STOP", 1, RightOpen},
	KindRolloutPut:        {"ROLLOUT_PUT", 4, RightOperate},
	KindRolloutDelete:     {"ROLLOUT_DELETE", 4, RightDelete},
	KindRolloutPublish:    {"ROLLOUT_PUBLISH", 4, RightWrite},
	KindRolloutSource:     {"ROLLOUT_SOURCE", 4, RightWrite},
	KindRolloutOffer:      {"ROLLOUT_OFFER", 4, RightWrite},
	KindRolloutJoin:       {"ROLLOUT_JOIN", 4, RightAcquire},
	KindRolloutLeave:      {"ROLLOUT_LEAVE", 4, RightAcquire},
	KindRolloutRole:       {"ROLLOUT_ROLE", 4, RightAcquire},
	KindRolloutReport:     {"ROLLOUT_REPORT", 4, RightAcquire},
	KindRolloutAsk:        {"ROLLOUT_ASK", 4, RightAcquire},
	KindRolloutAct:        {"ROLLOUT_ACT", 4, RightOperate},
	KindRolloutGate:       {"ROLLOUT_GATE", 4, RightWrite},
	KindRolloutDescribe:   {"ROLLOUT_DESCRIBE", 4, RightSee},
	KindRolloutList:       {"ROLLOUT_LIST", 4, RightSee},
	KindRolloutPlan:       {"ROLLOUT_PLAN", 4, RightSee},
	KindAccessChange:      {"ACCESS_CHANGE", 4, RightAdmin},
	KindAccessList:        {"ACCESS_LIST", 4, RightAdmin},
	KindAccessAsk:         {"ACCESS_ASK", 4, RightAdmin},
	KindAccessDenials:     {"ACCESS_DENIALS", 4, RightAdmin},
	KindHostLoad:          {"HOST_LOAD", 5, RightSee},
	KindOnBehalf:          {"ON_BEHALF", 6, RightOpen},
	KindConcerns:          {"CONCERNS", 7, RightSee},
	KindBackupDescribe:    {"BACKUP_DESCRIBE", 4, RightBackup},
	KindBackupBegin:       {"BACKUP_BEGIN", 4, RightBackup},
	KindBackupRead:        {"BACKUP_READ", 4, RightBackup},
	KindBackupEnd:         {"BACKUP_END", 4, RightBackup},
	KindProcessPut:        {"PROCESS_PUT", 4, RightOperate},
	KindProcessDelete:     {"PROCESS_DELETE", 4, RightDelete},
	KindProcessJoin:       {"PROCESS_JOIN", 4, RightAcquire},
	KindProcessLeave:      {"PROCESS_LEAVE", 4, RightAcquire},
	KindProcessPrepared:   {"PROCESS_PREPARED", 4, RightAcquire},
	KindProcessSend:       {"PROCESS_SEND", 4, RightWrite},
	KindProcessReply:      {"PROCESS_REPLY", 4, RightAcquire},
	KindProcessComplete:   {"PROCESS_COMPLETE", 4, RightAcquire},
	KindProcessCompleted:  {"PROCESS_COMPLETED", 4, RightAcquire},
	KindProcessFail:       {"PROCESS_FAIL", 4, RightAcquire},
	KindInboxAck:          {"INBOX_ACK", 4, RightAcquire},
	KindProcessAct:        {"PROCESS_ACT", 4, RightOperate},
	KindProcessDescribe:   {"PROCESS_DESCRIBE", 4, RightSee},
	KindProcessList:       {"PROCESS_LIST", 4, RightSee},
	KindInboxOpen:         {"INBOX_OPEN", 4, RightAcquire},
	KindHostBoot:          {"HOST_BOOT", 4, RightCluster},
	KindHostSay:           {"HOST_SAY", 4, RightCluster},
	KindHostOperate:       {"HOST_OPERATE", 4, RightCluster},
	KindShardTransfer:     {"SHARD_TRANSFER", 4, RightCluster},
	KindShardRecover:      {"SHARD_RECOVER", 10, RightCluster},
	KindClusterDescribe:   {"CLUSTER_DESCRIBE", 4, RightSee},
	KindClusterPlan:       {"CLUSTER_PLAN", 4, RightSee},
	KindClusterWhy:        {"CLUSTER_WHY", 4, RightSee},
	KindStepCancel:        {"STEP_CANCEL", 4, RightCluster},
	KindPolicy:            {"POLICY", 4, RightCluster},
	KindAuditRead:         {"AUDIT_READ", 4, RightCluster},
	KindToken:             {"TOKEN", 4, RightCluster},
	KindShardReport:       {"SHARD_REPORT", 4, RightCluster},
	KindStepEffect:        {"STEP_EFFECT", 4, RightCluster},
	KindSessionDetach:     {"SESSION_DETACH", 4, RightSession},
}

// pushes has a row for every kind of push, by its distance from the first kind of a push.
var pushes = [maxPush2 - minPush1 + 1]pushRow{
	KindGranted - minPush1:         {"GRANTED", 1},
	KindTimedOut - minPush1:        {"TIMED_OUT", 1},
	KindAborted - minPush1:         {"ABORTED", 1},
	KindChanged - minPush1:         {"CHANGED", 1},
	KindHoldingLost - minPush1:     {"HOLDING_LOST", 1},
	KindWatchSnapshot - minPush1:   {"WATCH_SNAPSHOT", 1},
	KindWatchDelta - minPush1:      {"WATCH_DELTA", 1},
	KindWatchResync - minPush1:     {"WATCH_RESYNC", 1},
	KindWatchEnd - minPush1:        {"WATCH_END", 1},
	KindSessionDetached - minPush1: {"SESSION_DETACHED", 1},
	KindSessionEnded - minPush1:    {"SESSION_ENDED", 1},
	KindRoutingChanged - minPush1:  {"ROUTING_CHANGED", 1},
	KindGoingAway - minPush1:       {"GOING_AWAY", 1},
	KindExpiring - minPush1:        {"EXPIRING", 4},
	KindInbox - minPush1:           {"INBOX", 4},
}
