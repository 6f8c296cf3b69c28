package protocol

// This file has the protocol's operation table. A new operation gets its number and its row here. From the row the
// decoders know the kind, errors print its name, and peers announce a second-block number. messages_gen.go is generated
// from the table: the message fields in Request and Answer, and the Kind methods for message types, which have the same
// names as the kinds. Tests name the other files to change.

// Requests go from the client to the host. Each request is answered once, with the kind larger by AnswerOffset.
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

	KindRolloutPut        Kind = 128
	KindRolloutDelete     Kind = 129
	KindRolloutPublish    Kind = 130
	KindRolloutSource     Kind = 131
	KindRolloutOffer      Kind = 132
	KindRolloutJoin       Kind = 133
	KindRolloutLeave      Kind = 134
	KindRolloutReady      Kind = 135
	KindRolloutReport     Kind = 136
	KindRolloutPoll       Kind = 137
	KindRolloutAction     Kind = 138
	KindRolloutGateReport Kind = 139
	KindRolloutDescribe   Kind = 140
	KindRolloutList       Kind = 141
	KindRolloutPlan       Kind = 142

	KindAccessChange  Kind = 144
	KindAccessList    Kind = 145
	KindAccessCheck   Kind = 146
	KindAccessDenials Kind = 147

	KindHostLoad     Kind = 148
	KindForwardedFor Kind = 149
	KindHealth       Kind = 150

	KindShardRecover Kind = 151

	KindBackupDescribe Kind = 152
	KindBackupBegin    Kind = 153
	KindBackupRead     Kind = 154
	KindBackupEnd      Kind = 155

	KindSlotMove Kind = 156
	KindSlotList Kind = 157

	KindShardUpdate Kind = 158
	KindRebalance   Kind = 159

	KindProcessPut         Kind = 160
	KindProcessDelete      Kind = 161
	KindProcessJoin        Kind = 162
	KindProcessLeave       Kind = 163
	KindProcessPrepareAck  Kind = 164
	KindProcessSend        Kind = 165
	KindProcessReply       Kind = 166
	KindProcessComplete    Kind = 167
	KindProcessCompleteAck Kind = 168
	KindProcessFail        Kind = 169
	KindInboxAck           Kind = 170
	KindProcessAction      Kind = 171
	KindProcessDescribe    Kind = 172
	KindProcessList        Kind = 173
	KindInboxOpen          Kind = 174

	KindRebalanceDescribe Kind = 175

	// The next request is sent only between hosts.
	KindSlotOffer Kind = 176

	// A host sends the next two requests to the meta shard's leader.
	KindHostBoot   Kind = 177
	KindHostNotify Kind = 178

	KindHostUpdate          Kind = 179
	KindShardTransferLeader Kind = 180
	KindClusterDescribe     Kind = 181
	KindClusterPlan         Kind = 182
	KindClusterWhy          Kind = 183
	KindStepCancel          Kind = 184
	KindPolicySet           Kind = 185
	KindAuditRead           Kind = 186
	KindJoinToken           Kind = 187

	// The next two requests are sent only between hosts.
	KindShardReport Kind = 188
	KindStepExecute Kind = 189

	KindSessionDetach Kind = 190
)

// Pushes go from the host to the client, unasked or as a request's later outcome.
const (
	KindGranted         Kind = 112
	KindTimedOut        Kind = 113
	KindAborted         Kind = 114
	KindWatchChanged    Kind = 115
	KindHoldingLost     Kind = 116
	KindWatchSnapshot   Kind = 117
	KindWatchDelta      Kind = 118
	KindWatchResync     Kind = 119
	KindWatchEnd        Kind = 120
	KindSessionDetached Kind = 121
	KindSessionEnded    Kind = 122
	KindRoutingChanged  Kind = 123
	KindGoingAway       Kind = 124

	KindInbox         Kind = 256
	KindTokenExpiring Kind = 260
)

// requestRow describes one request kind: its name and required right.
type requestRow struct {
	name  string
	right Right
}

// requestPlace has the pointers to a request and its answer in the decoders' results.
type requestPlace struct {
	request func(*Request) RequestMessage
	answer  func(*Answer) AnswerMessage
}

// requests has a row for every request kind, in both blocks.
var requests = [maxRequest2 + 1]requestRow{
	KindHello:               {"HELLO", RightOpen},
	KindPing:                {"PING", RightOpen},
	KindRouting:             {"ROUTING", RightOpen},
	KindHostStatus:          {"HOST_STATUS", RightRead},
	KindNodeCreate:          {"NODE_CREATE", RightAdmin},
	KindNodeDescribe:        {"NODE_DESCRIBE", RightRead},
	KindNodeAlter:           {"NODE_ALTER", RightAdmin},
	KindNodeDrop:            {"NODE_DROP", RightAdmin},
	KindNodeList:            {"NODE_LIST", RightRead},
	KindSessionStart:        {"SESSION_START", RightSession},
	KindSessionAttach:       {"SESSION_ATTACH", RightSession},
	KindSessionBind:         {"SESSION_BIND", RightSession},
	KindSessionStop:         {"SESSION_STOP", RightSession},
	KindSessionDestroy:      {"SESSION_DESTROY", RightOperate},
	KindSessionDescribe:     {"SESSION_DESCRIBE", RightRead},
	KindSessionList:         {"SESSION_LIST", RightRead},
	KindSessionHoldings:     {"SESSION_HOLDINGS", RightRead},
	KindSemaphoreCreate:     {"SEMAPHORE_CREATE", RightWrite},
	KindSemaphoreUpdate:     {"SEMAPHORE_UPDATE", RightWrite},
	KindSemaphoreDelete:     {"SEMAPHORE_DELETE", RightDelete},
	KindAcquire:             {"ACQUIRE", RightAcquire},
	KindRelease:             {"RELEASE", RightAcquire},
	KindSemaphoreDescribe:   {"SEMAPHORE_DESCRIBE", RightRead},
	KindSemaphoreList:       {"SEMAPHORE_LIST", RightRead},
	KindSemaphoreResize:     {"SEMAPHORE_RESIZE", RightWrite},
	KindWatch:               {"WATCH", RightRead},
	KindWatchStop:           {"WATCH_STOP", RightOpen},
	KindRolloutPut:          {"ROLLOUT_PUT", RightOperate},
	KindRolloutDelete:       {"ROLLOUT_DELETE", RightDelete},
	KindRolloutPublish:      {"ROLLOUT_PUBLISH", RightWrite},
	KindRolloutSource:       {"ROLLOUT_SOURCE", RightWrite},
	KindRolloutOffer:        {"ROLLOUT_OFFER", RightWrite},
	KindRolloutJoin:         {"ROLLOUT_JOIN", RightAcquire},
	KindRolloutLeave:        {"ROLLOUT_LEAVE", RightAcquire},
	KindRolloutReady:        {"ROLLOUT_READY", RightAcquire},
	KindRolloutReport:       {"ROLLOUT_REPORT", RightAcquire},
	KindRolloutPoll:         {"ROLLOUT_POLL", RightAcquire},
	KindRolloutAction:       {"ROLLOUT_ACTION", RightOperate},
	KindRolloutGateReport:   {"ROLLOUT_GATE_REPORT", RightWrite},
	KindRolloutDescribe:     {"ROLLOUT_DESCRIBE", RightRead},
	KindRolloutList:         {"ROLLOUT_LIST", RightRead},
	KindRolloutPlan:         {"ROLLOUT_PLAN", RightRead},
	KindAccessChange:        {"ACCESS_CHANGE", RightAdmin},
	KindAccessList:          {"ACCESS_LIST", RightAdmin},
	KindAccessCheck:         {"ACCESS_CHECK", RightAdmin},
	KindAccessDenials:       {"ACCESS_DENIALS", RightAdmin},
	KindHostLoad:            {"HOST_LOAD", RightRead},
	KindForwardedFor:        {"FORWARDED_FOR", RightOpen},
	KindHealth:              {"HEALTH", RightRead},
	KindBackupDescribe:      {"BACKUP_DESCRIBE", RightBackup},
	KindBackupBegin:         {"BACKUP_BEGIN", RightBackup},
	KindBackupRead:          {"BACKUP_READ", RightBackup},
	KindBackupEnd:           {"BACKUP_END", RightBackup},
	KindSlotMove:            {"SLOT_MOVE", RightCluster},
	KindShardUpdate:         {"SHARD_UPDATE", RightCluster},
	KindRebalance:           {"REBALANCE", RightCluster},
	KindRebalanceDescribe:   {"REBALANCE_DESCRIBE", RightRead},
	KindSlotList:            {"SLOT_LIST", RightRead},
	KindProcessPut:          {"PROCESS_PUT", RightOperate},
	KindProcessDelete:       {"PROCESS_DELETE", RightDelete},
	KindProcessJoin:         {"PROCESS_JOIN", RightAcquire},
	KindProcessLeave:        {"PROCESS_LEAVE", RightAcquire},
	KindProcessPrepareAck:   {"PROCESS_PREPARE_ACK", RightAcquire},
	KindProcessSend:         {"PROCESS_SEND", RightWrite},
	KindProcessReply:        {"PROCESS_REPLY", RightAcquire},
	KindProcessComplete:     {"PROCESS_COMPLETE", RightAcquire},
	KindProcessCompleteAck:  {"PROCESS_COMPLETE_ACK", RightAcquire},
	KindProcessFail:         {"PROCESS_FAIL", RightAcquire},
	KindInboxAck:            {"INBOX_ACK", RightAcquire},
	KindProcessAction:       {"PROCESS_ACTION", RightOperate},
	KindProcessDescribe:     {"PROCESS_DESCRIBE", RightRead},
	KindProcessList:         {"PROCESS_LIST", RightRead},
	KindInboxOpen:           {"INBOX_OPEN", RightAcquire},
	KindSlotOffer:           {"SLOT_OFFER", RightCluster},
	KindHostBoot:            {"HOST_BOOT", RightCluster},
	KindHostNotify:          {"HOST_NOTIFY", RightCluster},
	KindHostUpdate:          {"HOST_UPDATE", RightCluster},
	KindShardTransferLeader: {"SHARD_TRANSFER_LEADER", RightCluster},
	KindShardRecover:        {"SHARD_RECOVER", RightCluster},
	KindClusterDescribe:     {"CLUSTER_DESCRIBE", RightRead},
	KindClusterPlan:         {"CLUSTER_PLAN", RightRead},
	KindClusterWhy:          {"CLUSTER_WHY", RightRead},
	KindStepCancel:          {"STEP_CANCEL", RightCluster},
	KindPolicySet:           {"POLICY_SET", RightCluster},
	KindAuditRead:           {"AUDIT_READ", RightCluster},
	KindJoinToken:           {"JOIN_TOKEN", RightCluster},
	KindShardReport:         {"SHARD_REPORT", RightCluster},
	KindStepExecute:         {"STEP_EXECUTE", RightCluster},
	KindSessionDetach:       {"SESSION_DETACH", RightSession},
}

// pushes has every push kind's name, indexed by distance from the first push kind.
var pushes = [maxPush2 - minPush1 + 1]string{
	KindGranted - minPush1:         "GRANTED",
	KindTimedOut - minPush1:        "TIMED_OUT",
	KindAborted - minPush1:         "ABORTED",
	KindWatchChanged - minPush1:    "WATCH_CHANGED",
	KindHoldingLost - minPush1:     "HOLDING_LOST",
	KindWatchSnapshot - minPush1:   "WATCH_SNAPSHOT",
	KindWatchDelta - minPush1:      "WATCH_DELTA",
	KindWatchResync - minPush1:     "WATCH_RESYNC",
	KindWatchEnd - minPush1:        "WATCH_END",
	KindSessionDetached - minPush1: "SESSION_DETACHED",
	KindSessionEnded - minPush1:    "SESSION_ENDED",
	KindRoutingChanged - minPush1:  "ROUTING_CHANGED",
	KindGoingAway - minPush1:       "GOING_AWAY",
	KindTokenExpiring - minPush1:   "TOKEN_EXPIRING",
	KindInbox - minPush1:           "INBOX",
}
