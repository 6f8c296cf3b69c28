// Code generated from the table in operations.go by: go test ./test/tidy -run Messages -update. DO NOT EDIT.

package protocol

// Request is a message from a client, as a host reads it. The decoder fills the field that Kind names, and leaves all
// other fields unchanged.
type Request struct {
	Kind Kind
	ID   uint64

	Hello               Hello
	Ping                Ping
	Routing             Routing
	HostStatus          HostStatus
	NodeCreate          NodeCreate
	NodeDescribe        NodeDescribe
	NodeAlter           NodeAlter
	NodeDrop            NodeDrop
	NodeList            NodeList
	SessionStart        SessionStart
	SessionAttach       SessionAttach
	SessionBind         SessionBind
	SessionStop         SessionStop
	SessionDestroy      SessionDestroy
	SessionDescribe     SessionDescribe
	SessionList         SessionList
	SessionHoldings     SessionHoldings
	SemaphoreCreate     SemaphoreCreate
	SemaphoreUpdate     SemaphoreUpdate
	SemaphoreDelete     SemaphoreDelete
	Acquire             Acquire
	Release             Release
	SemaphoreDescribe   SemaphoreDescribe
	SemaphoreList       SemaphoreList
	SemaphoreResize     SemaphoreResize
	Watch               Watch
	WatchStop           WatchStop
	RolloutPut          RolloutPut
	RolloutDelete       RolloutDelete
	RolloutPublish      RolloutPublish
	RolloutSource       RolloutSource
	RolloutOffer        RolloutOffer
	RolloutJoin         RolloutJoin
	RolloutLeave        RolloutLeave
	RolloutReady        RolloutReady
	RolloutReport       RolloutReport
	RolloutPoll         RolloutPoll
	RolloutAction       RolloutAction
	RolloutGateReport   RolloutGateReport
	RolloutDescribe     RolloutDescribe
	RolloutList         RolloutList
	RolloutPlan         RolloutPlan
	AccessChange        AccessChange
	AccessList          AccessList
	AccessCheck         AccessCheck
	AccessDenials       AccessDenials
	HostLoad            HostLoad
	ForwardedFor        ForwardedFor
	Health              Health
	BackupDescribe      BackupDescribe
	BackupBegin         BackupBegin
	BackupRead          BackupRead
	BackupEnd           BackupEnd
	SlotMove            SlotMove
	ShardUpdate         ShardUpdate
	Rebalance           Rebalance
	RebalanceDescribe   RebalanceDescribe
	SlotList            SlotList
	ProcessPut          ProcessPut
	ProcessDelete       ProcessDelete
	ProcessJoin         ProcessJoin
	ProcessLeave        ProcessLeave
	ProcessPrepareAck   ProcessPrepareAck
	ProcessSend         ProcessSend
	ProcessReply        ProcessReply
	ProcessComplete     ProcessComplete
	ProcessCompleteAck  ProcessCompleteAck
	ProcessFail         ProcessFail
	InboxAck            InboxAck
	ProcessAction       ProcessAction
	ProcessDescribe     ProcessDescribe
	ProcessList         ProcessList
	InboxOpen           InboxOpen
	SlotOffer           SlotOffer
	HostBoot            HostBoot
	HostNotify          HostNotify
	HostUpdate          HostUpdate
	ShardTransferLeader ShardTransferLeader
	ShardRecover        ShardRecover
	ClusterDescribe     ClusterDescribe
	ClusterPlan         ClusterPlan
	ClusterWhy          ClusterWhy
	StepCancel          StepCancel
	PolicySet           PolicySet
	AuditRead           AuditRead
	JoinToken           JoinToken
	ShardReport         ShardReport
	StepExecute         StepExecute
	SessionDetach       SessionDetach
}

// Answer is a message from a host, as a client reads it: the answer to a request, or a push. The decoder fills the
// field that Kind names, and leaves all other fields unchanged.
type Answer struct {
	Kind Kind
	// ID is the message's request id; 0 for a push without a request.
	ID uint64
	// Result is the outcome at an answer's head. After a failure the field that Kind names is zero. For a push
	// Result is always a success: a push with an outcome has a separate field for the outcome.
	Result Result

	Welcome             Welcome
	Pong                Pong
	Routing             RoutingAnswer
	HostStatus          HostStatusAnswer
	NodeCreate          NodeCreateAnswer
	NodeDescribe        NodeDescribeAnswer
	NodeAlter           NodeAlterAnswer
	NodeDrop            NodeDropAnswer
	NodeList            NodeListAnswer
	SessionStart        SessionStartAnswer
	SessionAttach       SessionAttachAnswer
	SessionBind         SessionBindAnswer
	SessionStop         SessionStopAnswer
	SessionDestroy      SessionDestroyAnswer
	SessionDescribe     SessionDescribeAnswer
	SessionList         SessionListAnswer
	SessionHoldings     SessionHoldingsAnswer
	SemaphoreCreate     SemaphoreCreateAnswer
	SemaphoreUpdate     SemaphoreUpdateAnswer
	SemaphoreDelete     SemaphoreDeleteAnswer
	Acquire             AcquireAnswer
	Release             ReleaseAnswer
	SemaphoreDescribe   SemaphoreDescribeAnswer
	SemaphoreList       SemaphoreListAnswer
	SemaphoreResize     SemaphoreResizeAnswer
	Watch               WatchAnswer
	WatchStop           WatchStopAnswer
	RolloutPut          RolloutPutAnswer
	RolloutDelete       RolloutDeleteAnswer
	RolloutPublish      RolloutPublishAnswer
	RolloutSource       RolloutSourceAnswer
	RolloutOffer        RolloutOfferAnswer
	RolloutJoin         RolloutJoinAnswer
	RolloutLeave        RolloutLeaveAnswer
	RolloutReady        RolloutReadyAnswer
	RolloutReport       RolloutReportAnswer
	RolloutPoll         RolloutPollAnswer
	RolloutAction       RolloutActionAnswer
	RolloutGateReport   RolloutGateReportAnswer
	RolloutDescribe     RolloutDescribeAnswer
	RolloutList         RolloutListAnswer
	RolloutPlan         RolloutPlanAnswer
	AccessChange        AccessChangeAnswer
	AccessList          AccessListAnswer
	AccessCheck         AccessCheckAnswer
	AccessDenials       AccessDenialsAnswer
	HostLoad            HostLoadAnswer
	ForwardedFor        ForwardedForAnswer
	Health              HealthAnswer
	BackupDescribe      BackupDescribeAnswer
	BackupBegin         BackupBeginAnswer
	BackupRead          BackupReadAnswer
	BackupEnd           BackupEndAnswer
	SlotMove            SlotMoveAnswer
	ShardUpdate         ShardUpdateAnswer
	Rebalance           RebalanceAnswer
	RebalanceDescribe   RebalanceDescribeAnswer
	SlotList            SlotListAnswer
	ProcessPut          ProcessPutAnswer
	ProcessDelete       ProcessDeleteAnswer
	ProcessJoin         ProcessJoinAnswer
	ProcessLeave        ProcessLeaveAnswer
	ProcessPrepareAck   ProcessPrepareAckAnswer
	ProcessSend         ProcessSendAnswer
	ProcessReply        ProcessReplyAnswer
	ProcessComplete     ProcessCompleteAnswer
	ProcessCompleteAck  ProcessCompleteAckAnswer
	ProcessFail         ProcessFailAnswer
	InboxAck            InboxAckAnswer
	ProcessAction       ProcessActionAnswer
	ProcessDescribe     ProcessDescribeAnswer
	ProcessList         ProcessListAnswer
	InboxOpen           InboxOpenAnswer
	SlotOffer           SlotOfferAnswer
	HostBoot            HostBootAnswer
	HostNotify          HostNotifyAnswer
	HostUpdate          HostUpdateAnswer
	ShardTransferLeader ShardTransferLeaderAnswer
	ShardRecover        ShardRecoverAnswer
	ClusterDescribe     ClusterDescribeAnswer
	ClusterPlan         ClusterPlanAnswer
	ClusterWhy          ClusterWhyAnswer
	StepCancel          StepCancelAnswer
	PolicySet           PolicySetAnswer
	AuditRead           AuditReadAnswer
	JoinToken           JoinTokenAnswer
	ShardReport         ShardReportAnswer
	StepExecute         StepExecuteAnswer
	SessionDetach       SessionDetachAnswer

	Granted         Granted
	TimedOut        TimedOut
	Aborted         Aborted
	WatchChanged    WatchChanged
	HoldingLost     HoldingLost
	WatchSnapshot   WatchSnapshot
	WatchDelta      WatchDelta
	WatchResync     WatchResync
	WatchEnd        WatchEnd
	SessionDetached SessionDetached
	SessionEnded    SessionEnded
	RoutingChanged  RoutingChanged
	GoingAway       GoingAway
	TokenExpiring   TokenExpiring
	Inbox           Inbox
}

// requestPlaces are the places of requests in Request, and of their answers in Answer.
var requestPlaces = [maxRequest2 + 1]requestPlace{
	KindHello: {func(r *Request) RequestMessage { return &r.Hello },
		func(a *Answer) AnswerMessage { return &a.Welcome }},
	KindPing: {func(r *Request) RequestMessage { return &r.Ping },
		func(a *Answer) AnswerMessage { return &a.Pong }},
	KindRouting: {func(r *Request) RequestMessage { return &r.Routing },
		func(a *Answer) AnswerMessage { return &a.Routing }},
	KindHostStatus: {func(r *Request) RequestMessage { return &r.HostStatus },
		func(a *Answer) AnswerMessage { return &a.HostStatus }},
	KindNodeCreate: {func(r *Request) RequestMessage { return &r.NodeCreate },
		func(a *Answer) AnswerMessage { return &a.NodeCreate }},
	KindNodeDescribe: {func(r *Request) RequestMessage { return &r.NodeDescribe },
		func(a *Answer) AnswerMessage { return &a.NodeDescribe }},
	KindNodeAlter: {func(r *Request) RequestMessage { return &r.NodeAlter },
		func(a *Answer) AnswerMessage { return &a.NodeAlter }},
	KindNodeDrop: {func(r *Request) RequestMessage { return &r.NodeDrop },
		func(a *Answer) AnswerMessage { return &a.NodeDrop }},
	KindNodeList: {func(r *Request) RequestMessage { return &r.NodeList },
		func(a *Answer) AnswerMessage { return &a.NodeList }},
	KindSessionStart: {func(r *Request) RequestMessage { return &r.SessionStart },
		func(a *Answer) AnswerMessage { return &a.SessionStart }},
	KindSessionAttach: {func(r *Request) RequestMessage { return &r.SessionAttach },
		func(a *Answer) AnswerMessage { return &a.SessionAttach }},
	KindSessionBind: {func(r *Request) RequestMessage { return &r.SessionBind },
		func(a *Answer) AnswerMessage { return &a.SessionBind }},
	KindSessionStop: {func(r *Request) RequestMessage { return &r.SessionStop },
		func(a *Answer) AnswerMessage { return &a.SessionStop }},
	KindSessionDestroy: {func(r *Request) RequestMessage { return &r.SessionDestroy },
		func(a *Answer) AnswerMessage { return &a.SessionDestroy }},
	KindSessionDescribe: {func(r *Request) RequestMessage { return &r.SessionDescribe },
		func(a *Answer) AnswerMessage { return &a.SessionDescribe }},
	KindSessionList: {func(r *Request) RequestMessage { return &r.SessionList },
		func(a *Answer) AnswerMessage { return &a.SessionList }},
	KindSessionHoldings: {func(r *Request) RequestMessage { return &r.SessionHoldings },
		func(a *Answer) AnswerMessage { return &a.SessionHoldings }},
	KindSemaphoreCreate: {func(r *Request) RequestMessage { return &r.SemaphoreCreate },
		func(a *Answer) AnswerMessage { return &a.SemaphoreCreate }},
	KindSemaphoreUpdate: {func(r *Request) RequestMessage { return &r.SemaphoreUpdate },
		func(a *Answer) AnswerMessage { return &a.SemaphoreUpdate }},
	KindSemaphoreDelete: {func(r *Request) RequestMessage { return &r.SemaphoreDelete },
		func(a *Answer) AnswerMessage { return &a.SemaphoreDelete }},
	KindAcquire: {func(r *Request) RequestMessage { return &r.Acquire },
		func(a *Answer) AnswerMessage { return &a.Acquire }},
	KindRelease: {func(r *Request) RequestMessage { return &r.Release },
		func(a *Answer) AnswerMessage { return &a.Release }},
	KindSemaphoreDescribe: {func(r *Request) RequestMessage { return &r.SemaphoreDescribe },
		func(a *Answer) AnswerMessage { return &a.SemaphoreDescribe }},
	KindSemaphoreList: {func(r *Request) RequestMessage { return &r.SemaphoreList },
		func(a *Answer) AnswerMessage { return &a.SemaphoreList }},
	KindSemaphoreResize: {func(r *Request) RequestMessage { return &r.SemaphoreResize },
		func(a *Answer) AnswerMessage { return &a.SemaphoreResize }},
	KindWatch: {func(r *Request) RequestMessage { return &r.Watch },
		func(a *Answer) AnswerMessage { return &a.Watch }},
	KindWatchStop: {func(r *Request) RequestMessage { return &r.WatchStop },
		func(a *Answer) AnswerMessage { return &a.WatchStop }},
	KindRolloutPut: {func(r *Request) RequestMessage { return &r.RolloutPut },
		func(a *Answer) AnswerMessage { return &a.RolloutPut }},
	KindRolloutDelete: {func(r *Request) RequestMessage { return &r.RolloutDelete },
		func(a *Answer) AnswerMessage { return &a.RolloutDelete }},
	KindRolloutPublish: {func(r *Request) RequestMessage { return &r.RolloutPublish },
		func(a *Answer) AnswerMessage { return &a.RolloutPublish }},
	KindRolloutSource: {func(r *Request) RequestMessage { return &r.RolloutSource },
		func(a *Answer) AnswerMessage { return &a.RolloutSource }},
	KindRolloutOffer: {func(r *Request) RequestMessage { return &r.RolloutOffer },
		func(a *Answer) AnswerMessage { return &a.RolloutOffer }},
	KindRolloutJoin: {func(r *Request) RequestMessage { return &r.RolloutJoin },
		func(a *Answer) AnswerMessage { return &a.RolloutJoin }},
	KindRolloutLeave: {func(r *Request) RequestMessage { return &r.RolloutLeave },
		func(a *Answer) AnswerMessage { return &a.RolloutLeave }},
	KindRolloutReady: {func(r *Request) RequestMessage { return &r.RolloutReady },
		func(a *Answer) AnswerMessage { return &a.RolloutReady }},
	KindRolloutReport: {func(r *Request) RequestMessage { return &r.RolloutReport },
		func(a *Answer) AnswerMessage { return &a.RolloutReport }},
	KindRolloutPoll: {func(r *Request) RequestMessage { return &r.RolloutPoll },
		func(a *Answer) AnswerMessage { return &a.RolloutPoll }},
	KindRolloutAction: {func(r *Request) RequestMessage { return &r.RolloutAction },
		func(a *Answer) AnswerMessage { return &a.RolloutAction }},
	KindRolloutGateReport: {func(r *Request) RequestMessage { return &r.RolloutGateReport },
		func(a *Answer) AnswerMessage { return &a.RolloutGateReport }},
	KindRolloutDescribe: {func(r *Request) RequestMessage { return &r.RolloutDescribe },
		func(a *Answer) AnswerMessage { return &a.RolloutDescribe }},
	KindRolloutList: {func(r *Request) RequestMessage { return &r.RolloutList },
		func(a *Answer) AnswerMessage { return &a.RolloutList }},
	KindRolloutPlan: {func(r *Request) RequestMessage { return &r.RolloutPlan },
		func(a *Answer) AnswerMessage { return &a.RolloutPlan }},
	KindAccessChange: {func(r *Request) RequestMessage { return &r.AccessChange },
		func(a *Answer) AnswerMessage { return &a.AccessChange }},
	KindAccessList: {func(r *Request) RequestMessage { return &r.AccessList },
		func(a *Answer) AnswerMessage { return &a.AccessList }},
	KindAccessCheck: {func(r *Request) RequestMessage { return &r.AccessCheck },
		func(a *Answer) AnswerMessage { return &a.AccessCheck }},
	KindAccessDenials: {func(r *Request) RequestMessage { return &r.AccessDenials },
		func(a *Answer) AnswerMessage { return &a.AccessDenials }},
	KindHostLoad: {func(r *Request) RequestMessage { return &r.HostLoad },
		func(a *Answer) AnswerMessage { return &a.HostLoad }},
	KindForwardedFor: {func(r *Request) RequestMessage { return &r.ForwardedFor },
		func(a *Answer) AnswerMessage { return &a.ForwardedFor }},
	KindHealth: {func(r *Request) RequestMessage { return &r.Health },
		func(a *Answer) AnswerMessage { return &a.Health }},
	KindBackupDescribe: {func(r *Request) RequestMessage { return &r.BackupDescribe },
		func(a *Answer) AnswerMessage { return &a.BackupDescribe }},
	KindBackupBegin: {func(r *Request) RequestMessage { return &r.BackupBegin },
		func(a *Answer) AnswerMessage { return &a.BackupBegin }},
	KindBackupRead: {func(r *Request) RequestMessage { return &r.BackupRead },
		func(a *Answer) AnswerMessage { return &a.BackupRead }},
	KindBackupEnd: {func(r *Request) RequestMessage { return &r.BackupEnd },
		func(a *Answer) AnswerMessage { return &a.BackupEnd }},
	KindSlotMove: {func(r *Request) RequestMessage { return &r.SlotMove },
		func(a *Answer) AnswerMessage { return &a.SlotMove }},
	KindShardUpdate: {func(r *Request) RequestMessage { return &r.ShardUpdate },
		func(a *Answer) AnswerMessage { return &a.ShardUpdate }},
	KindRebalance: {func(r *Request) RequestMessage { return &r.Rebalance },
		func(a *Answer) AnswerMessage { return &a.Rebalance }},
	KindRebalanceDescribe: {func(r *Request) RequestMessage { return &r.RebalanceDescribe },
		func(a *Answer) AnswerMessage { return &a.RebalanceDescribe }},
	KindSlotList: {func(r *Request) RequestMessage { return &r.SlotList },
		func(a *Answer) AnswerMessage { return &a.SlotList }},
	KindProcessPut: {func(r *Request) RequestMessage { return &r.ProcessPut },
		func(a *Answer) AnswerMessage { return &a.ProcessPut }},
	KindProcessDelete: {func(r *Request) RequestMessage { return &r.ProcessDelete },
		func(a *Answer) AnswerMessage { return &a.ProcessDelete }},
	KindProcessJoin: {func(r *Request) RequestMessage { return &r.ProcessJoin },
		func(a *Answer) AnswerMessage { return &a.ProcessJoin }},
	KindProcessLeave: {func(r *Request) RequestMessage { return &r.ProcessLeave },
		func(a *Answer) AnswerMessage { return &a.ProcessLeave }},
	KindProcessPrepareAck: {func(r *Request) RequestMessage { return &r.ProcessPrepareAck },
		func(a *Answer) AnswerMessage { return &a.ProcessPrepareAck }},
	KindProcessSend: {func(r *Request) RequestMessage { return &r.ProcessSend },
		func(a *Answer) AnswerMessage { return &a.ProcessSend }},
	KindProcessReply: {func(r *Request) RequestMessage { return &r.ProcessReply },
		func(a *Answer) AnswerMessage { return &a.ProcessReply }},
	KindProcessComplete: {func(r *Request) RequestMessage { return &r.ProcessComplete },
		func(a *Answer) AnswerMessage { return &a.ProcessComplete }},
	KindProcessCompleteAck: {func(r *Request) RequestMessage { return &r.ProcessCompleteAck },
		func(a *Answer) AnswerMessage { return &a.ProcessCompleteAck }},
	KindProcessFail: {func(r *Request) RequestMessage { return &r.ProcessFail },
		func(a *Answer) AnswerMessage { return &a.ProcessFail }},
	KindInboxAck: {func(r *Request) RequestMessage { return &r.InboxAck },
		func(a *Answer) AnswerMessage { return &a.InboxAck }},
	KindProcessAction: {func(r *Request) RequestMessage { return &r.ProcessAction },
		func(a *Answer) AnswerMessage { return &a.ProcessAction }},
	KindProcessDescribe: {func(r *Request) RequestMessage { return &r.ProcessDescribe },
		func(a *Answer) AnswerMessage { return &a.ProcessDescribe }},
	KindProcessList: {func(r *Request) RequestMessage { return &r.ProcessList },
		func(a *Answer) AnswerMessage { return &a.ProcessList }},
	KindInboxOpen: {func(r *Request) RequestMessage { return &r.InboxOpen },
		func(a *Answer) AnswerMessage { return &a.InboxOpen }},
	KindSlotOffer: {func(r *Request) RequestMessage { return &r.SlotOffer },
		func(a *Answer) AnswerMessage { return &a.SlotOffer }},
	KindHostBoot: {func(r *Request) RequestMessage { return &r.HostBoot },
		func(a *Answer) AnswerMessage { return &a.HostBoot }},
	KindHostNotify: {func(r *Request) RequestMessage { return &r.HostNotify },
		func(a *Answer) AnswerMessage { return &a.HostNotify }},
	KindHostUpdate: {func(r *Request) RequestMessage { return &r.HostUpdate },
		func(a *Answer) AnswerMessage { return &a.HostUpdate }},
	KindShardTransferLeader: {func(r *Request) RequestMessage { return &r.ShardTransferLeader },
		func(a *Answer) AnswerMessage { return &a.ShardTransferLeader }},
	KindShardRecover: {func(r *Request) RequestMessage { return &r.ShardRecover },
		func(a *Answer) AnswerMessage { return &a.ShardRecover }},
	KindClusterDescribe: {func(r *Request) RequestMessage { return &r.ClusterDescribe },
		func(a *Answer) AnswerMessage { return &a.ClusterDescribe }},
	KindClusterPlan: {func(r *Request) RequestMessage { return &r.ClusterPlan },
		func(a *Answer) AnswerMessage { return &a.ClusterPlan }},
	KindClusterWhy: {func(r *Request) RequestMessage { return &r.ClusterWhy },
		func(a *Answer) AnswerMessage { return &a.ClusterWhy }},
	KindStepCancel: {func(r *Request) RequestMessage { return &r.StepCancel },
		func(a *Answer) AnswerMessage { return &a.StepCancel }},
	KindPolicySet: {func(r *Request) RequestMessage { return &r.PolicySet },
		func(a *Answer) AnswerMessage { return &a.PolicySet }},
	KindAuditRead: {func(r *Request) RequestMessage { return &r.AuditRead },
		func(a *Answer) AnswerMessage { return &a.AuditRead }},
	KindJoinToken: {func(r *Request) RequestMessage { return &r.JoinToken },
		func(a *Answer) AnswerMessage { return &a.JoinToken }},
	KindShardReport: {func(r *Request) RequestMessage { return &r.ShardReport },
		func(a *Answer) AnswerMessage { return &a.ShardReport }},
	KindStepExecute: {func(r *Request) RequestMessage { return &r.StepExecute },
		func(a *Answer) AnswerMessage { return &a.StepExecute }},
	KindSessionDetach: {func(r *Request) RequestMessage { return &r.SessionDetach },
		func(a *Answer) AnswerMessage { return &a.SessionDetach }},
}

// pushPlaces are the places of pushes in Answer, by the distance from the first kind of a push.
var pushPlaces = [maxPush2 - minPush1 + 1]func(*Answer) PushMessage{
	KindGranted - minPush1:         func(a *Answer) PushMessage { return &a.Granted },
	KindTimedOut - minPush1:        func(a *Answer) PushMessage { return &a.TimedOut },
	KindAborted - minPush1:         func(a *Answer) PushMessage { return &a.Aborted },
	KindWatchChanged - minPush1:    func(a *Answer) PushMessage { return &a.WatchChanged },
	KindHoldingLost - minPush1:     func(a *Answer) PushMessage { return &a.HoldingLost },
	KindWatchSnapshot - minPush1:   func(a *Answer) PushMessage { return &a.WatchSnapshot },
	KindWatchDelta - minPush1:      func(a *Answer) PushMessage { return &a.WatchDelta },
	KindWatchResync - minPush1:     func(a *Answer) PushMessage { return &a.WatchResync },
	KindWatchEnd - minPush1:        func(a *Answer) PushMessage { return &a.WatchEnd },
	KindSessionDetached - minPush1: func(a *Answer) PushMessage { return &a.SessionDetached },
	KindSessionEnded - minPush1:    func(a *Answer) PushMessage { return &a.SessionEnded },
	KindRoutingChanged - minPush1:  func(a *Answer) PushMessage { return &a.RoutingChanged },
	KindGoingAway - minPush1:       func(a *Answer) PushMessage { return &a.GoingAway },
	KindTokenExpiring - minPush1:   func(a *Answer) PushMessage { return &a.TokenExpiring },
	KindInbox - minPush1:           func(a *Answer) PushMessage { return &a.Inbox },
}

// Kind returns KindHello.
func (*Hello) Kind() Kind { return KindHello }

// Kind returns the answer kind for a Hello.
func (*Welcome) Kind() Kind { return KindHello.Answer() }

// Kind returns KindPing.
func (*Ping) Kind() Kind { return KindPing }

// Kind returns the answer kind for a Ping.
func (*Pong) Kind() Kind { return KindPing.Answer() }

// Kind returns KindRouting.
func (*Routing) Kind() Kind { return KindRouting }

// Kind returns the answer kind for a Routing.
func (*RoutingAnswer) Kind() Kind { return KindRouting.Answer() }

// Kind returns KindHostStatus.
func (*HostStatus) Kind() Kind { return KindHostStatus }

// Kind returns the answer kind for a HostStatus.
func (*HostStatusAnswer) Kind() Kind { return KindHostStatus.Answer() }

// Kind returns KindNodeCreate.
func (*NodeCreate) Kind() Kind { return KindNodeCreate }

// Kind returns the answer kind for a NodeCreate.
func (*NodeCreateAnswer) Kind() Kind { return KindNodeCreate.Answer() }

// Kind returns KindNodeDescribe.
func (*NodeDescribe) Kind() Kind { return KindNodeDescribe }

// Kind returns the answer kind for a NodeDescribe.
func (*NodeDescribeAnswer) Kind() Kind { return KindNodeDescribe.Answer() }

// Kind returns KindNodeAlter.
func (*NodeAlter) Kind() Kind { return KindNodeAlter }

// Kind returns the answer kind for a NodeAlter.
func (*NodeAlterAnswer) Kind() Kind { return KindNodeAlter.Answer() }

// Kind returns KindNodeDrop.
func (*NodeDrop) Kind() Kind { return KindNodeDrop }

// Kind returns the answer kind for a NodeDrop.
func (*NodeDropAnswer) Kind() Kind { return KindNodeDrop.Answer() }

// Kind returns KindNodeList.
func (*NodeList) Kind() Kind { return KindNodeList }

// Kind returns the answer kind for a NodeList.
func (*NodeListAnswer) Kind() Kind { return KindNodeList.Answer() }

// Kind returns KindSessionStart.
func (*SessionStart) Kind() Kind { return KindSessionStart }

// Kind returns the answer kind for a SessionStart.
func (*SessionStartAnswer) Kind() Kind { return KindSessionStart.Answer() }

// Kind returns KindSessionAttach.
func (*SessionAttach) Kind() Kind { return KindSessionAttach }

// Kind returns the answer kind for a SessionAttach.
func (*SessionAttachAnswer) Kind() Kind { return KindSessionAttach.Answer() }

// Kind returns KindSessionBind.
func (*SessionBind) Kind() Kind { return KindSessionBind }

// Kind returns the answer kind for a SessionBind.
func (*SessionBindAnswer) Kind() Kind { return KindSessionBind.Answer() }

// Kind returns KindSessionStop.
func (*SessionStop) Kind() Kind { return KindSessionStop }

// Kind returns the answer kind for a SessionStop.
func (*SessionStopAnswer) Kind() Kind { return KindSessionStop.Answer() }

// Kind returns KindSessionDestroy.
func (*SessionDestroy) Kind() Kind { return KindSessionDestroy }

// Kind returns the answer kind for a SessionDestroy.
func (*SessionDestroyAnswer) Kind() Kind { return KindSessionDestroy.Answer() }

// Kind returns KindSessionDescribe.
func (*SessionDescribe) Kind() Kind { return KindSessionDescribe }

// Kind returns the answer kind for a SessionDescribe.
func (*SessionDescribeAnswer) Kind() Kind { return KindSessionDescribe.Answer() }

// Kind returns KindSessionList.
func (*SessionList) Kind() Kind { return KindSessionList }

// Kind returns the answer kind for a SessionList.
func (*SessionListAnswer) Kind() Kind { return KindSessionList.Answer() }

// Kind returns KindSessionHoldings.
func (*SessionHoldings) Kind() Kind { return KindSessionHoldings }

// Kind returns the answer kind for a SessionHoldings.
func (*SessionHoldingsAnswer) Kind() Kind { return KindSessionHoldings.Answer() }

// Kind returns KindSemaphoreCreate.
func (*SemaphoreCreate) Kind() Kind { return KindSemaphoreCreate }

// Kind returns the answer kind for a SemaphoreCreate.
func (*SemaphoreCreateAnswer) Kind() Kind { return KindSemaphoreCreate.Answer() }

// Kind returns KindSemaphoreUpdate.
func (*SemaphoreUpdate) Kind() Kind { return KindSemaphoreUpdate }

// Kind returns the answer kind for a SemaphoreUpdate.
func (*SemaphoreUpdateAnswer) Kind() Kind { return KindSemaphoreUpdate.Answer() }

// Kind returns KindSemaphoreDelete.
func (*SemaphoreDelete) Kind() Kind { return KindSemaphoreDelete }

// Kind returns the answer kind for a SemaphoreDelete.
func (*SemaphoreDeleteAnswer) Kind() Kind { return KindSemaphoreDelete.Answer() }

// Kind returns KindAcquire.
func (*Acquire) Kind() Kind { return KindAcquire }

// Kind returns the answer kind for a Acquire.
func (*AcquireAnswer) Kind() Kind { return KindAcquire.Answer() }

// Kind returns KindRelease.
func (*Release) Kind() Kind { return KindRelease }

// Kind returns the answer kind for a Release.
func (*ReleaseAnswer) Kind() Kind { return KindRelease.Answer() }

// Kind returns KindSemaphoreDescribe.
func (*SemaphoreDescribe) Kind() Kind { return KindSemaphoreDescribe }

// Kind returns the answer kind for a SemaphoreDescribe.
func (*SemaphoreDescribeAnswer) Kind() Kind { return KindSemaphoreDescribe.Answer() }

// Kind returns KindSemaphoreList.
func (*SemaphoreList) Kind() Kind { return KindSemaphoreList }

// Kind returns the answer kind for a SemaphoreList.
func (*SemaphoreListAnswer) Kind() Kind { return KindSemaphoreList.Answer() }

// Kind returns KindSemaphoreResize.
func (*SemaphoreResize) Kind() Kind { return KindSemaphoreResize }

// Kind returns the answer kind for a SemaphoreResize.
func (*SemaphoreResizeAnswer) Kind() Kind { return KindSemaphoreResize.Answer() }

// Kind returns KindWatch.
func (*Watch) Kind() Kind { return KindWatch }

// Kind returns the answer kind for a Watch.
func (*WatchAnswer) Kind() Kind { return KindWatch.Answer() }

// Kind returns KindWatchStop.
func (*WatchStop) Kind() Kind { return KindWatchStop }

// Kind returns the answer kind for a WatchStop.
func (*WatchStopAnswer) Kind() Kind { return KindWatchStop.Answer() }

// Kind returns KindRolloutPut.
func (*RolloutPut) Kind() Kind { return KindRolloutPut }

// Kind returns the answer kind for a RolloutPut.
func (*RolloutPutAnswer) Kind() Kind { return KindRolloutPut.Answer() }

// Kind returns KindRolloutDelete.
func (*RolloutDelete) Kind() Kind { return KindRolloutDelete }

// Kind returns the answer kind for a RolloutDelete.
func (*RolloutDeleteAnswer) Kind() Kind { return KindRolloutDelete.Answer() }

// Kind returns KindRolloutPublish.
func (*RolloutPublish) Kind() Kind { return KindRolloutPublish }

// Kind returns the answer kind for a RolloutPublish.
func (*RolloutPublishAnswer) Kind() Kind { return KindRolloutPublish.Answer() }

// Kind returns KindRolloutSource.
func (*RolloutSource) Kind() Kind { return KindRolloutSource }

// Kind returns the answer kind for a RolloutSource.
func (*RolloutSourceAnswer) Kind() Kind { return KindRolloutSource.Answer() }

// Kind returns KindRolloutOffer.
func (*RolloutOffer) Kind() Kind { return KindRolloutOffer }

// Kind returns the answer kind for a RolloutOffer.
func (*RolloutOfferAnswer) Kind() Kind { return KindRolloutOffer.Answer() }

// Kind returns KindRolloutJoin.
func (*RolloutJoin) Kind() Kind { return KindRolloutJoin }

// Kind returns the answer kind for a RolloutJoin.
func (*RolloutJoinAnswer) Kind() Kind { return KindRolloutJoin.Answer() }

// Kind returns KindRolloutLeave.
func (*RolloutLeave) Kind() Kind { return KindRolloutLeave }

// Kind returns the answer kind for a RolloutLeave.
func (*RolloutLeaveAnswer) Kind() Kind { return KindRolloutLeave.Answer() }

// Kind returns KindRolloutReady.
func (*RolloutReady) Kind() Kind { return KindRolloutReady }

// Kind returns the answer kind for a RolloutReady.
func (*RolloutReadyAnswer) Kind() Kind { return KindRolloutReady.Answer() }

// Kind returns KindRolloutReport.
func (*RolloutReport) Kind() Kind { return KindRolloutReport }

// Kind returns the answer kind for a RolloutReport.
func (*RolloutReportAnswer) Kind() Kind { return KindRolloutReport.Answer() }

// Kind returns KindRolloutPoll.
func (*RolloutPoll) Kind() Kind { return KindRolloutPoll }

// Kind returns the answer kind for a RolloutPoll.
func (*RolloutPollAnswer) Kind() Kind { return KindRolloutPoll.Answer() }

// Kind returns KindRolloutAction.
func (*RolloutAction) Kind() Kind { return KindRolloutAction }

// Kind returns the answer kind for a RolloutAction.
func (*RolloutActionAnswer) Kind() Kind { return KindRolloutAction.Answer() }

// Kind returns KindRolloutGateReport.
func (*RolloutGateReport) Kind() Kind { return KindRolloutGateReport }

// Kind returns the answer kind for a RolloutGateReport.
func (*RolloutGateReportAnswer) Kind() Kind { return KindRolloutGateReport.Answer() }

// Kind returns KindRolloutDescribe.
func (*RolloutDescribe) Kind() Kind { return KindRolloutDescribe }

// Kind returns the answer kind for a RolloutDescribe.
func (*RolloutDescribeAnswer) Kind() Kind { return KindRolloutDescribe.Answer() }

// Kind returns KindRolloutList.
func (*RolloutList) Kind() Kind { return KindRolloutList }

// Kind returns the answer kind for a RolloutList.
func (*RolloutListAnswer) Kind() Kind { return KindRolloutList.Answer() }

// Kind returns KindRolloutPlan.
func (*RolloutPlan) Kind() Kind { return KindRolloutPlan }

// Kind returns the answer kind for a RolloutPlan.
func (*RolloutPlanAnswer) Kind() Kind { return KindRolloutPlan.Answer() }

// Kind returns KindAccessChange.
func (*AccessChange) Kind() Kind { return KindAccessChange }

// Kind returns the answer kind for a AccessChange.
func (*AccessChangeAnswer) Kind() Kind { return KindAccessChange.Answer() }

// Kind returns KindAccessList.
func (*AccessList) Kind() Kind { return KindAccessList }

// Kind returns the answer kind for a AccessList.
func (*AccessListAnswer) Kind() Kind { return KindAccessList.Answer() }

// Kind returns KindAccessCheck.
func (*AccessCheck) Kind() Kind { return KindAccessCheck }

// Kind returns the answer kind for a AccessCheck.
func (*AccessCheckAnswer) Kind() Kind { return KindAccessCheck.Answer() }

// Kind returns KindAccessDenials.
func (*AccessDenials) Kind() Kind { return KindAccessDenials }

// Kind returns the answer kind for a AccessDenials.
func (*AccessDenialsAnswer) Kind() Kind { return KindAccessDenials.Answer() }

// Kind returns KindHostLoad.
func (*HostLoad) Kind() Kind { return KindHostLoad }

// Kind returns the answer kind for a HostLoad.
func (*HostLoadAnswer) Kind() Kind { return KindHostLoad.Answer() }

// Kind returns KindForwardedFor.
func (*ForwardedFor) Kind() Kind { return KindForwardedFor }

// Kind returns the answer kind for a ForwardedFor.
func (*ForwardedForAnswer) Kind() Kind { return KindForwardedFor.Answer() }

// Kind returns KindHealth.
func (*Health) Kind() Kind { return KindHealth }

// Kind returns the answer kind for a Health.
func (*HealthAnswer) Kind() Kind { return KindHealth.Answer() }

// Kind returns KindBackupDescribe.
func (*BackupDescribe) Kind() Kind { return KindBackupDescribe }

// Kind returns the answer kind for a BackupDescribe.
func (*BackupDescribeAnswer) Kind() Kind { return KindBackupDescribe.Answer() }

// Kind returns KindBackupBegin.
func (*BackupBegin) Kind() Kind { return KindBackupBegin }

// Kind returns the answer kind for a BackupBegin.
func (*BackupBeginAnswer) Kind() Kind { return KindBackupBegin.Answer() }

// Kind returns KindBackupRead.
func (*BackupRead) Kind() Kind { return KindBackupRead }

// Kind returns the answer kind for a BackupRead.
func (*BackupReadAnswer) Kind() Kind { return KindBackupRead.Answer() }

// Kind returns KindBackupEnd.
func (*BackupEnd) Kind() Kind { return KindBackupEnd }

// Kind returns the answer kind for a BackupEnd.
func (*BackupEndAnswer) Kind() Kind { return KindBackupEnd.Answer() }

// Kind returns KindSlotMove.
func (*SlotMove) Kind() Kind { return KindSlotMove }

// Kind returns the answer kind for a SlotMove.
func (*SlotMoveAnswer) Kind() Kind { return KindSlotMove.Answer() }

// Kind returns KindShardUpdate.
func (*ShardUpdate) Kind() Kind { return KindShardUpdate }

// Kind returns the answer kind for a ShardUpdate.
func (*ShardUpdateAnswer) Kind() Kind { return KindShardUpdate.Answer() }

// Kind returns KindRebalance.
func (*Rebalance) Kind() Kind { return KindRebalance }

// Kind returns the answer kind for a Rebalance.
func (*RebalanceAnswer) Kind() Kind { return KindRebalance.Answer() }

// Kind returns KindRebalanceDescribe.
func (*RebalanceDescribe) Kind() Kind { return KindRebalanceDescribe }

// Kind returns the answer kind for a RebalanceDescribe.
func (*RebalanceDescribeAnswer) Kind() Kind { return KindRebalanceDescribe.Answer() }

// Kind returns KindSlotList.
func (*SlotList) Kind() Kind { return KindSlotList }

// Kind returns the answer kind for a SlotList.
func (*SlotListAnswer) Kind() Kind { return KindSlotList.Answer() }

// Kind returns KindProcessPut.
func (*ProcessPut) Kind() Kind { return KindProcessPut }

// Kind returns the answer kind for a ProcessPut.
func (*ProcessPutAnswer) Kind() Kind { return KindProcessPut.Answer() }

// Kind returns KindProcessDelete.
func (*ProcessDelete) Kind() Kind { return KindProcessDelete }

// Kind returns the answer kind for a ProcessDelete.
func (*ProcessDeleteAnswer) Kind() Kind { return KindProcessDelete.Answer() }

// Kind returns KindProcessJoin.
func (*ProcessJoin) Kind() Kind { return KindProcessJoin }

// Kind returns the answer kind for a ProcessJoin.
func (*ProcessJoinAnswer) Kind() Kind { return KindProcessJoin.Answer() }

// Kind returns KindProcessLeave.
func (*ProcessLeave) Kind() Kind { return KindProcessLeave }

// Kind returns the answer kind for a ProcessLeave.
func (*ProcessLeaveAnswer) Kind() Kind { return KindProcessLeave.Answer() }

// Kind returns KindProcessPrepareAck.
func (*ProcessPrepareAck) Kind() Kind { return KindProcessPrepareAck }

// Kind returns the answer kind for a ProcessPrepareAck.
func (*ProcessPrepareAckAnswer) Kind() Kind { return KindProcessPrepareAck.Answer() }

// Kind returns KindProcessSend.
func (*ProcessSend) Kind() Kind { return KindProcessSend }

// Kind returns the answer kind for a ProcessSend.
func (*ProcessSendAnswer) Kind() Kind { return KindProcessSend.Answer() }

// Kind returns KindProcessReply.
func (*ProcessReply) Kind() Kind { return KindProcessReply }

// Kind returns the answer kind for a ProcessReply.
func (*ProcessReplyAnswer) Kind() Kind { return KindProcessReply.Answer() }

// Kind returns KindProcessComplete.
func (*ProcessComplete) Kind() Kind { return KindProcessComplete }

// Kind returns the answer kind for a ProcessComplete.
func (*ProcessCompleteAnswer) Kind() Kind { return KindProcessComplete.Answer() }

// Kind returns KindProcessCompleteAck.
func (*ProcessCompleteAck) Kind() Kind { return KindProcessCompleteAck }

// Kind returns the answer kind for a ProcessCompleteAck.
func (*ProcessCompleteAckAnswer) Kind() Kind { return KindProcessCompleteAck.Answer() }

// Kind returns KindProcessFail.
func (*ProcessFail) Kind() Kind { return KindProcessFail }

// Kind returns the answer kind for a ProcessFail.
func (*ProcessFailAnswer) Kind() Kind { return KindProcessFail.Answer() }

// Kind returns KindInboxAck.
func (*InboxAck) Kind() Kind { return KindInboxAck }

// Kind returns the answer kind for a InboxAck.
func (*InboxAckAnswer) Kind() Kind { return KindInboxAck.Answer() }

// Kind returns KindProcessAction.
func (*ProcessAction) Kind() Kind { return KindProcessAction }

// Kind returns the answer kind for a ProcessAction.
func (*ProcessActionAnswer) Kind() Kind { return KindProcessAction.Answer() }

// Kind returns KindProcessDescribe.
func (*ProcessDescribe) Kind() Kind { return KindProcessDescribe }

// Kind returns the answer kind for a ProcessDescribe.
func (*ProcessDescribeAnswer) Kind() Kind { return KindProcessDescribe.Answer() }

// Kind returns KindProcessList.
func (*ProcessList) Kind() Kind { return KindProcessList }

// Kind returns the answer kind for a ProcessList.
func (*ProcessListAnswer) Kind() Kind { return KindProcessList.Answer() }

// Kind returns KindInboxOpen.
func (*InboxOpen) Kind() Kind { return KindInboxOpen }

// Kind returns the answer kind for a InboxOpen.
func (*InboxOpenAnswer) Kind() Kind { return KindInboxOpen.Answer() }

// Kind returns KindSlotOffer.
func (*SlotOffer) Kind() Kind { return KindSlotOffer }

// Kind returns the answer kind for a SlotOffer.
func (*SlotOfferAnswer) Kind() Kind { return KindSlotOffer.Answer() }

// Kind returns KindHostBoot.
func (*HostBoot) Kind() Kind { return KindHostBoot }

// Kind returns the answer kind for a HostBoot.
func (*HostBootAnswer) Kind() Kind { return KindHostBoot.Answer() }

// Kind returns KindHostNotify.
func (*HostNotify) Kind() Kind { return KindHostNotify }

// Kind returns the answer kind for a HostNotify.
func (*HostNotifyAnswer) Kind() Kind { return KindHostNotify.Answer() }

// Kind returns KindHostUpdate.
func (*HostUpdate) Kind() Kind { return KindHostUpdate }

// Kind returns the answer kind for a HostUpdate.
func (*HostUpdateAnswer) Kind() Kind { return KindHostUpdate.Answer() }

// Kind returns KindShardTransferLeader.
func (*ShardTransferLeader) Kind() Kind { return KindShardTransferLeader }

// Kind returns the answer kind for a ShardTransferLeader.
func (*ShardTransferLeaderAnswer) Kind() Kind { return KindShardTransferLeader.Answer() }

// Kind returns KindShardRecover.
func (*ShardRecover) Kind() Kind { return KindShardRecover }

// Kind returns the answer kind for a ShardRecover.
func (*ShardRecoverAnswer) Kind() Kind { return KindShardRecover.Answer() }

// Kind returns KindClusterDescribe.
func (*ClusterDescribe) Kind() Kind { return KindClusterDescribe }

// Kind returns the answer kind for a ClusterDescribe.
func (*ClusterDescribeAnswer) Kind() Kind { return KindClusterDescribe.Answer() }

// Kind returns KindClusterPlan.
func (*ClusterPlan) Kind() Kind { return KindClusterPlan }

// Kind returns the answer kind for a ClusterPlan.
func (*ClusterPlanAnswer) Kind() Kind { return KindClusterPlan.Answer() }

// Kind returns KindClusterWhy.
func (*ClusterWhy) Kind() Kind { return KindClusterWhy }

// Kind returns the answer kind for a ClusterWhy.
func (*ClusterWhyAnswer) Kind() Kind { return KindClusterWhy.Answer() }

// Kind returns KindStepCancel.
func (*StepCancel) Kind() Kind { return KindStepCancel }

// Kind returns the answer kind for a StepCancel.
func (*StepCancelAnswer) Kind() Kind { return KindStepCancel.Answer() }

// Kind returns KindPolicySet.
func (*PolicySet) Kind() Kind { return KindPolicySet }

// Kind returns the answer kind for a PolicySet.
func (*PolicySetAnswer) Kind() Kind { return KindPolicySet.Answer() }

// Kind returns KindAuditRead.
func (*AuditRead) Kind() Kind { return KindAuditRead }

// Kind returns the answer kind for a AuditRead.
func (*AuditReadAnswer) Kind() Kind { return KindAuditRead.Answer() }

// Kind returns KindJoinToken.
func (*JoinToken) Kind() Kind { return KindJoinToken }

// Kind returns the answer kind for a JoinToken.
func (*JoinTokenAnswer) Kind() Kind { return KindJoinToken.Answer() }

// Kind returns KindShardReport.
func (*ShardReport) Kind() Kind { return KindShardReport }

// Kind returns the answer kind for a ShardReport.
func (*ShardReportAnswer) Kind() Kind { return KindShardReport.Answer() }

// Kind returns KindStepExecute.
func (*StepExecute) Kind() Kind { return KindStepExecute }

// Kind returns the answer kind for a StepExecute.
func (*StepExecuteAnswer) Kind() Kind { return KindStepExecute.Answer() }

// Kind returns KindSessionDetach.
func (*SessionDetach) Kind() Kind { return KindSessionDetach }

// Kind returns the answer kind for a SessionDetach.
func (*SessionDetachAnswer) Kind() Kind { return KindSessionDetach.Answer() }

// Kind returns KindGranted.
func (*Granted) Kind() Kind { return KindGranted }

// Kind returns KindTimedOut.
func (*TimedOut) Kind() Kind { return KindTimedOut }

// Kind returns KindAborted.
func (*Aborted) Kind() Kind { return KindAborted }

// Kind returns KindWatchChanged.
func (*WatchChanged) Kind() Kind { return KindWatchChanged }

// Kind returns KindHoldingLost.
func (*HoldingLost) Kind() Kind { return KindHoldingLost }

// Kind returns KindWatchSnapshot.
func (*WatchSnapshot) Kind() Kind { return KindWatchSnapshot }

// Kind returns KindWatchDelta.
func (*WatchDelta) Kind() Kind { return KindWatchDelta }

// Kind returns KindWatchResync.
func (*WatchResync) Kind() Kind { return KindWatchResync }

// Kind returns KindWatchEnd.
func (*WatchEnd) Kind() Kind { return KindWatchEnd }

// Kind returns KindSessionDetached.
func (*SessionDetached) Kind() Kind { return KindSessionDetached }

// Kind returns KindSessionEnded.
func (*SessionEnded) Kind() Kind { return KindSessionEnded }

// Kind returns KindRoutingChanged.
func (*RoutingChanged) Kind() Kind { return KindRoutingChanged }

// Kind returns KindGoingAway.
func (*GoingAway) Kind() Kind { return KindGoingAway }

// Kind returns KindTokenExpiring.
func (*TokenExpiring) Kind() Kind { return KindTokenExpiring }

// Kind returns KindInbox.
func (*Inbox) Kind() Kind { return KindInbox }
