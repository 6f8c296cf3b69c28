package protocol

import (
	"reflect"
	"unsafe"

	"github.com/signalbox/signalbox/protocol/level"
)

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

// row describes the kind of the requests of type Q, which answers of type A belong to. The places are the fields of
// these types in Request and in Answer, found once: a decoder reaches the field of a message by an addition.
func row[Q, A any, PQ interface {
	*Q
	RequestMessage
}, PA interface {
	*A
	AnswerMessage
}](name string, since level.Level, right Right) requestRow {
	request, answer := placeOf[Q](reflect.TypeFor[Request]()), placeOf[A](reflect.TypeFor[Answer]())
	return requestRow{name, since, right,
		func(r *Request) RequestMessage { return PQ(unsafe.Add(unsafe.Pointer(r), request)) },
		func(a *Answer) AnswerMessage { return PA(unsafe.Add(unsafe.Pointer(a), answer)) }}
}

// placeOf returns the offset of the field of type T in a struct. The struct has one such field.
func placeOf[T any](in reflect.Type) uintptr {
	for i := range in.NumField() {
		if field := in.Field(i); field.Type == reflect.TypeFor[T]() {
			return field.Offset
		}
	}
	panic("protocol: no place for a message of type " + reflect.TypeFor[T]().Name())
}

// pushRow describes one kind of push.
type pushRow struct {
	name  string
	level level.Level
	push  func(*Answer) PushMessage
}

// requests has a row for every kind of request, in both blocks.
var requests = [maxRequest2 + 1]requestRow{
	KindHello:             row[Hello, Welcome]("HELLO", 1, RightOpen),
	KindPing:              row[Ping, Pong]("PING", 1, RightOpen),
	KindRouting:           row[Routing, RoutingAnswer]("ROUTING", 1, RightOpen),
	KindHostStatus:        row[HostStatus, HostStatusAnswer]("HOST_STATUS", 1, RightSee),
	KindNodeCreate:        row[NodeCreate, NodeCreateAnswer]("NODE_CREATE", 1, RightAdmin),
	KindNodeDescribe:      row[NodeDescribe, NodeDescribeAnswer]("NODE_DESCRIBE", 1, RightSee),
	KindNodeAlter:         row[NodeAlter, NodeAlterAnswer]("NODE_ALTER", 1, RightAdmin),
	KindNodeDrop:          row[NodeDrop, NodeDropAnswer]("NODE_DROP", 1, RightAdmin),
	KindNodeList:          row[NodeList, NodeListAnswer]("NODE_LIST", 1, RightSee),
	KindSessionStart:      row[SessionStart, SessionStartAnswer]("SESSION_START", 1, RightSession),
	KindSessionAttach:     row[SessionAttach, SessionAttachAnswer]("SESSION_ATTACH", 1, RightSession),
	KindSessionBind:       row[SessionBind, SessionBindAnswer]("SESSION_BIND", 1, RightSession),
	KindSessionStop:       row[SessionStop, SessionStopAnswer]("SESSION_STOP", 1, RightSession),
	KindSessionDestroy:    row[SessionDestroy, SessionDestroyAnswer]("SESSION_DESTROY", 1, RightOperate),
	KindSessionDescribe:   row[SessionDescribe, SessionDescribeAnswer]("SESSION_DESCRIBE", 1, RightSee),
	KindSessionList:       row[SessionList, SessionListAnswer]("SESSION_LIST", 1, RightSee),
	KindSessionHoldings:   row[SessionHoldings, SessionHoldingsAnswer]("SESSION_HOLDINGS", 1, RightSee),
	KindSemaphoreCreate:   row[SemaphoreCreate, SemaphoreCreateAnswer]("SEMAPHORE_CREATE", 1, RightWrite),
	KindSemaphoreUpdate:   row[SemaphoreUpdate, SemaphoreUpdateAnswer]("SEMAPHORE_UPDATE", 1, RightWrite),
	KindSemaphoreDelete:   row[SemaphoreDelete, SemaphoreDeleteAnswer]("SEMAPHORE_DELETE", 1, RightDelete),
	KindAcquire:           row[Acquire, AcquireAnswer]("ACQUIRE", 1, RightAcquire),
	KindRelease:           row[Release, ReleaseAnswer]("RELEASE", 1, RightAcquire),
	KindSemaphoreDescribe: row[SemaphoreDescribe, SemaphoreDescribeAnswer]("SEMAPHORE_DESCRIBE", 1, RightSee),
	KindSemaphoreList:     row[SemaphoreList, SemaphoreListAnswer]("SEMAPHORE_LIST", 1, RightSee),
	KindSemaphoreResize:   row[SemaphoreResize, SemaphoreResizeAnswer]("SEMAPHORE_RESIZE", 2, RightWrite),
	KindWatch:             row[Watch, WatchAnswer]("WATCH", 1, RightSee),
	KindWatchStop:         row[WatchStop, WatchStopAnswer]("WATCH_STOP", 1, RightOpen),
	KindRolloutPut:        row[RolloutPut, RolloutPutAnswer]("ROLLOUT_PUT", 4, RightOperate),
	KindRolloutDelete:     row[RolloutDelete, RolloutDeleteAnswer]("ROLLOUT_DELETE", 4, RightDelete),
	KindRolloutPublish:    row[RolloutPublish, RolloutPublishAnswer]("ROLLOUT_PUBLISH", 4, RightWrite),
	KindRolloutSource:     row[RolloutSource, RolloutSourceAnswer]("ROLLOUT_SOURCE", 4, RightWrite),
	KindRolloutOffer:      row[RolloutOffer, RolloutOfferAnswer]("ROLLOUT_OFFER", 4, RightWrite),
	KindRolloutJoin:       row[RolloutJoin, RolloutJoinAnswer]("ROLLOUT_JOIN", 4, RightAcquire),
	KindRolloutLeave:      row[RolloutLeave, RolloutLeaveAnswer]("ROLLOUT_LEAVE", 4, RightAcquire),
	KindRolloutRole:       row[RolloutRole, RolloutRoleAnswer]("ROLLOUT_ROLE", 4, RightAcquire),
	KindRolloutReport:     row[RolloutReport, RolloutReportAnswer]("ROLLOUT_REPORT", 4, RightAcquire),
	KindRolloutAsk:        row[RolloutAsk, RolloutAskAnswer]("ROLLOUT_ASK", 4, RightAcquire),
	KindRolloutAct:        row[RolloutAct, RolloutActAnswer]("ROLLOUT_ACT", 4, RightOperate),
	KindRolloutGate:       row[RolloutGate, RolloutGateAnswer]("ROLLOUT_GATE", 4, RightWrite),
	KindRolloutDescribe:   row[RolloutDescribe, RolloutDescribeAnswer]("ROLLOUT_DESCRIBE", 4, RightSee),
	KindRolloutList:       row[RolloutList, RolloutListAnswer]("ROLLOUT_LIST", 4, RightSee),
	KindRolloutPlan:       row[RolloutPlan, RolloutPlanAnswer]("ROLLOUT_PLAN", 4, RightSee),
	KindAccessChange:      row[AccessChange, AccessChangeAnswer]("ACCESS_CHANGE", 4, RightAdmin),
	KindAccessList:        row[AccessList, AccessListAnswer]("ACCESS_LIST", 4, RightAdmin),
	KindAccessAsk:         row[AccessAsk, AccessAskAnswer]("ACCESS_ASK", 4, RightAdmin),
	KindAccessDenials:     row[AccessDenials, AccessDenialsAnswer]("ACCESS_DENIALS", 4, RightAdmin),
	KindHostLoad:          row[HostLoad, HostLoadAnswer]("HOST_LOAD", 5, RightSee),
	KindOnBehalf:          row[OnBehalf, OnBehalfAnswer]("ON_BEHALF", 6, RightOpen),
	KindConcerns:          row[Concerns, ConcernsAnswer]("CONCERNS", 7, RightSee),
	KindBackupDescribe:    row[BackupDescribe, BackupDescribeAnswer]("BACKUP_DESCRIBE", 4, RightBackup),
	KindBackupBegin:       row[BackupBegin, BackupBeginAnswer]("BACKUP_BEGIN", 4, RightBackup),
	KindBackupRead:        row[BackupRead, BackupReadAnswer]("BACKUP_READ", 4, RightBackup),
	KindBackupEnd:         row[BackupEnd, BackupEndAnswer]("BACKUP_END", 4, RightBackup),
	KindProcessPut:        row[ProcessPut, ProcessPutAnswer]("PROCESS_PUT", 4, RightOperate),
	KindProcessDelete:     row[ProcessDelete, ProcessDeleteAnswer]("PROCESS_DELETE", 4, RightDelete),
	KindProcessJoin:       row[ProcessJoin, ProcessJoinAnswer]("PROCESS_JOIN", 4, RightAcquire),
	KindProcessLeave:      row[ProcessLeave, ProcessLeaveAnswer]("PROCESS_LEAVE", 4, RightAcquire),
	KindProcessPrepared:   row[ProcessPrepared, ProcessPreparedAnswer]("PROCESS_PREPARED", 4, RightAcquire),
	KindProcessSend:       row[ProcessSend, ProcessSendAnswer]("PROCESS_SEND", 4, RightWrite),
	KindProcessReply:      row[ProcessReply, ProcessReplyAnswer]("PROCESS_REPLY", 4, RightAcquire),
	KindProcessComplete:   row[ProcessComplete, ProcessCompleteAnswer]("PROCESS_COMPLETE", 4, RightAcquire),
	KindProcessCompleted:  row[ProcessCompleted, ProcessCompletedAnswer]("PROCESS_COMPLETED", 4, RightAcquire),
	KindProcessFail:       row[ProcessFail, ProcessFailAnswer]("PROCESS_FAIL", 4, RightAcquire),
	KindInboxAck:          row[InboxAck, InboxAckAnswer]("INBOX_ACK", 4, RightAcquire),
	KindProcessAct:        row[ProcessAct, ProcessActAnswer]("PROCESS_ACT", 4, RightOperate),
	KindProcessDescribe:   row[ProcessDescribe, ProcessDescribeAnswer]("PROCESS_DESCRIBE", 4, RightSee),
	KindProcessList:       row[ProcessList, ProcessListAnswer]("PROCESS_LIST", 4, RightSee),
	KindInboxOpen:         row[InboxOpen, InboxOpenAnswer]("INBOX_OPEN", 4, RightAcquire),
	KindHostBoot:          row[HostBoot, HostBootAnswer]("HOST_BOOT", 4, RightCluster),
	KindHostSay:           row[HostSay, HostSayAnswer]("HOST_SAY", 4, RightCluster),
	KindHostOperate:       row[HostOperate, HostOperateAnswer]("HOST_OPERATE", 4, RightCluster),
	KindShardTransfer:     row[ShardTransfer, ShardTransferAnswer]("SHARD_TRANSFER", 4, RightCluster),
	KindClusterDescribe:   row[ClusterDescribe, ClusterDescribeAnswer]("CLUSTER_DESCRIBE", 4, RightSee),
	KindClusterPlan:       row[ClusterPlan, ClusterPlanAnswer]("CLUSTER_PLAN", 4, RightSee),
	KindClusterWhy:        row[ClusterWhy, ClusterWhyAnswer]("CLUSTER_WHY", 4, RightSee),
	KindStepCancel:        row[StepCancel, StepCancelAnswer]("STEP_CANCEL", 4, RightCluster),
	KindPolicy:            row[Policy, PolicyAnswer]("POLICY", 4, RightCluster),
	KindAuditRead:         row[AuditRead, AuditReadAnswer]("AUDIT_READ", 4, RightCluster),
	KindToken:             row[Token, TokenAnswer]("TOKEN", 4, RightCluster),
	KindShardReport:       row[ShardReport, ShardReportAnswer]("SHARD_REPORT", 4, RightCluster),
	KindStepEffect:        row[StepEffect, StepEffectAnswer]("STEP_EFFECT", 4, RightCluster),
	KindSessionDetach:     row[SessionDetach, SessionDetachAnswer]("SESSION_DETACH", 4, RightSession),
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
