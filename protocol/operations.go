package protocol

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

// requestRow describes one kind of request: its name and the right that it needs.
type requestRow struct {
	name  string
	right Right
}

// requestPlace has the places of a request and of its answer in the results of the decoders.
type requestPlace struct {
	request func(*Request) RequestMessage
	answer  func(*Answer) AnswerMessage
}

// requests has a row for every kind of request, in both blocks.
var requests = [maxRequest2 + 1]requestRow{
	KindHello:             {"HELLO", RightOpen},
	KindPing:              {"PING", RightOpen},
	KindRouting:           {"ROUTING", RightOpen},
	KindHostStatus:        {"HOST_STATUS", RightSee},
	KindNodeCreate:        {"NODE_CREATE", RightAdmin},
	KindNodeDescribe:      {"NODE_DESCRIBE", RightSee},
	KindNodeAlter:         {"NODE_ALTER", RightAdmin},
	KindNodeDrop:          {"NODE_DROP", RightAdmin},
	KindNodeList:          {"NODE_LIST", RightSee},
	KindSessionStart:      {"SESSION_START", RightSession},
	KindSessionAttach:     {"SESSION_ATTACH", RightSession},
	KindSessionBind:       {"SESSION_BIND", RightSession},
	KindSessionStop:       {"SESSION_STOP", RightSession},
	KindSessionDestroy:    {"SESSION_DESTROY", RightOperate},
	KindSessionDescribe:   {"SESSION_DESCRIBE", RightSee},
	KindSessionList:       {"SESSION_LIST", RightSee},
	KindSessionHoldings:   {"SESSION_HOLDINGS", RightSee},
	KindSemaphoreCreate:   {"SEMAPHORE_CREATE", RightWrite},
	KindSemaphoreUpdate:   {"SEMAPHORE_UPDATE", RightWrite},
	KindSemaphoreDelete:   {"SEMAPHORE_DELETE", RightDelete},
	KindAcquire:           {"ACQUIRE", RightAcquire},
	KindRelease:           {"RELEASE", RightAcquire},
	KindSemaphoreDescribe: {"SEMAPHORE_DESCRIBE", RightSee},
	KindSemaphoreList:     {"SEMAPHORE_LIST", RightSee},
	KindSemaphoreResize:   {"SEMAPHORE_RESIZE", RightWrite},
	KindWatch:             {"WATCH", RightSee},
	KindWatchStop:         {"WATCH_STOP", RightOpen},
	KindRolloutPut:        {"ROLLOUT_PUT", RightOperate},
	KindRolloutDelete:     {"ROLLOUT_DELETE", RightDelete},
	KindRolloutPublish:    {"ROLLOUT_PUBLISH", RightWrite},
	KindRolloutSource:     {"ROLLOUT_SOURCE", RightWrite},
	KindRolloutOffer:      {"ROLLOUT_OFFER", RightWrite},
	KindRolloutJoin:       {"ROLLOUT_JOIN", RightAcquire},
	KindRolloutLeave:      {"ROLLOUT_LEAVE", RightAcquire},
	KindRolloutRole:       {"ROLLOUT_ROLE", RightAcquire},
	KindRolloutReport:     {"ROLLOUT_REPORT", RightAcquire},
	KindRolloutAsk:        {"ROLLOUT_ASK", RightAcquire},
	KindRolloutAct:        {"ROLLOUT_ACT", RightOperate},
	KindRolloutGate:       {"ROLLOUT_GATE", RightWrite},
	KindRolloutDescribe:   {"ROLLOUT_DESCRIBE", RightSee},
	KindRolloutList:       {"ROLLOUT_LIST", RightSee},
	KindRolloutPlan:       {"ROLLOUT_PLAN", RightSee},
	KindAccessChange:      {"ACCESS_CHANGE", RightAdmin},
	KindAccessList:        {"ACCESS_LIST", RightAdmin},
	KindAccessAsk:         {"ACCESS_ASK", RightAdmin},
	KindAccessDenials:     {"ACCESS_DENIALS", RightAdmin},
	KindHostLoad:          {"HOST_LOAD", RightSee},
	KindOnBehalf:          {"ON_BEHALF", RightOpen},
	KindConcerns:          {"CONCERNS", RightSee},
	KindBackupDescribe:    {"BACKUP_DESCRIBE", RightBackup},
	KindBackupBegin:       {"BACKUP_BEGIN", RightBackup},
	KindBackupRead:        {"BACKUP_READ", RightBackup},
	KindBackupEnd:         {"BACKUP_END", RightBackup},
	KindProcessPut:        {"PROCESS_PUT", RightOperate},
	KindProcessDelete:     {"PROCESS_DELETE", RightDelete},
	KindProcessJoin:       {"PROCESS_JOIN", RightAcquire},
	KindProcessLeave:      {"PROCESS_LEAVE", RightAcquire},
	KindProcessPrepared:   {"PROCESS_PREPARED", RightAcquire},
	KindProcessSend:       {"PROCESS_SEND", RightWrite},
	KindProcessReply:      {"PROCESS_REPLY", RightAcquire},
	KindProcessComplete:   {"PROCESS_COMPLETE", RightAcquire},
	KindProcessCompleted:  {"PROCESS_COMPLETED", RightAcquire},
	KindProcessFail:       {"PROCESS_FAIL", RightAcquire},
	KindInboxAck:          {"INBOX_ACK", RightAcquire},
	KindProcessAct:        {"PROCESS_ACT", RightOperate},
	KindProcessDescribe:   {"PROCESS_DESCRIBE", RightSee},
	KindProcessList:       {"PROCESS_LIST", RightSee},
	KindInboxOpen:         {"INBOX_OPEN", RightAcquire},
	KindHostBoot:          {"HOST_BOOT", RightCluster},
	KindHostSay:           {"HOST_SAY", RightCluster},
	KindHostOperate:       {"HOST_OPERATE", RightCluster},
	KindShardTransfer:     {"SHARD_TRANSFER", RightCluster},
	KindShardRecover:      {"SHARD_RECOVER", RightCluster},
	KindClusterDescribe:   {"CLUSTER_DESCRIBE", RightSee},
	KindClusterPlan:       {"CLUSTER_PLAN", RightSee},
	KindClusterWhy:        {"CLUSTER_WHY", RightSee},
	KindStepCancel:        {"STEP_CANCEL", RightCluster},
	KindPolicy:            {"POLICY", RightCluster},
	KindAuditRead:         {"AUDIT_READ", RightCluster},
	KindToken:             {"TOKEN", RightCluster},
	KindShardReport:       {"SHARD_REPORT", RightCluster},
	KindStepEffect:        {"STEP_EFFECT", RightCluster},
	KindSessionDetach:     {"SESSION_DETACH", RightSession},
}

// pushes has the name of every kind of push, by its distance from the first kind of a push.
var pushes = [maxPush2 - minPush1 + 1]string{
	KindGranted - minPush1:         "GRANTED",
	KindTimedOut - minPush1:        "TIMED_OUT",
	KindAborted - minPush1:         "ABORTED",
	KindChanged - minPush1:         "CHANGED",
	KindHoldingLost - minPush1:     "HOLDING_LOST",
	KindWatchSnapshot - minPush1:   "WATCH_SNAPSHOT",
	KindWatchDelta - minPush1:      "WATCH_DELTA",
	KindWatchResync - minPush1:     "WATCH_RESYNC",
	KindWatchEnd - minPush1:        "WATCH_END",
	KindSessionDetached - minPush1: "SESSION_DETACHED",
	KindSessionEnded - minPush1:    "SESSION_ENDED",
	KindRoutingChanged - minPush1:  "ROUTING_CHANGED",
	KindGoingAway - minPush1:       "GOING_AWAY",
	KindExpiring - minPush1:        "EXPIRING",
	KindInbox - minPush1:           "INBOX",
}
