package protocol

// Answer is one message from a host, as a client reads it: the answer to a request or a push. The field
// that Kind names is filled, the others hold what they held before.
type Answer struct {
	Kind Kind
	// ID is that of the request that the message belongs to; 0 for a push that belongs to none.
	ID uint64
	// Result is the outcome that an answer begins with. Where it is not a success, the field that Kind
	// names is zero. For a push it is success: pushes that carry an outcome have it in their own field.
	Result Result

	Welcome           Welcome
	Pong              Pong
	Routing           RoutingAnswer
	HostStatus        HostStatusAnswer
	NodeCreate        NodeCreateAnswer
	NodeDescribe      NodeDescribeAnswer
	NodeAlter         NodeAlterAnswer
	NodeDrop          NodeDropAnswer
	NodeList          NodeListAnswer
	SessionStart      SessionStartAnswer
	SessionAttach     SessionAttachAnswer
	SessionBind       SessionBindAnswer
	SessionStop       SessionStopAnswer
	SessionDestroy    SessionDestroyAnswer
	SessionDescribe   SessionDescribeAnswer
	SessionList       SessionListAnswer
	SessionHoldings   SessionHoldingsAnswer
	SemaphoreCreate   SemaphoreCreateAnswer
	SemaphoreUpdate   SemaphoreUpdateAnswer
	SemaphoreDelete   SemaphoreDeleteAnswer
	Acquire           AcquireAnswer
	Release           ReleaseAnswer
	SemaphoreDescribe SemaphoreDescribeAnswer
	SemaphoreList     SemaphoreListAnswer
	Watch             WatchAnswer
	WatchStop         WatchStopAnswer

	Granted         Granted
	TimedOut        TimedOut
	Aborted         Aborted
	Changed         Changed
	HoldingLost     HoldingLost
	WatchSnapshot   WatchSnapshot
	WatchDelta      WatchDelta
	WatchResync     WatchResync
	WatchEnd        WatchEnd
	SessionDetached SessionDetached
	SessionEnded    SessionEnded
	RoutingChanged  RoutingChanged
	GoingAway       GoingAway
}

// Message returns a pointer to the field that Kind names if that is the answer to a request, or nil.
func (a *Answer) Message() AnswerMessage {
	switch a.Kind - AnswerOffset {
	case KindHello:
		return &a.Welcome
	case KindPing:
		return &a.Pong
	case KindRouting:
		return &a.Routing
	case KindHostStatus:
		return &a.HostStatus
	case KindNodeCreate:
		return &a.NodeCreate
	case KindNodeDescribe:
		return &a.NodeDescribe
	case KindNodeAlter:
		return &a.NodeAlter
	case KindNodeDrop:
		return &a.NodeDrop
	case KindNodeList:
		return &a.NodeList
	case KindSessionStart:
		return &a.SessionStart
	case KindSessionAttach:
		return &a.SessionAttach
	case KindSessionBind:
		return &a.SessionBind
	case KindSessionStop:
		return &a.SessionStop
	case KindSessionDestroy:
		return &a.SessionDestroy
	case KindSessionDescribe:
		return &a.SessionDescribe
	case KindSessionList:
		return &a.SessionList
	case KindSessionHoldings:
		return &a.SessionHoldings
	case KindSemaphoreCreate:
		return &a.SemaphoreCreate
	case KindSemaphoreUpdate:
		return &a.SemaphoreUpdate
	case KindSemaphoreDelete:
		return &a.SemaphoreDelete
	case KindAcquire:
		return &a.Acquire
	case KindRelease:
		return &a.Release
	case KindSemaphoreDescribe:
		return &a.SemaphoreDescribe
	case KindSemaphoreList:
		return &a.SemaphoreList
	case KindWatch:
		return &a.Watch
	case KindWatchStop:
		return &a.WatchStop
	}
	return nil
}

// Push returns a pointer to the field that Kind names if that is a push, or nil.
func (a *Answer) Push() PushMessage {
	switch a.Kind {
	case KindGranted:
		return &a.Granted
	case KindTimedOut:
		return &a.TimedOut
	case KindAborted:
		return &a.Aborted
	case KindChanged:
		return &a.Changed
	case KindHoldingLost:
		return &a.HoldingLost
	case KindWatchSnapshot:
		return &a.WatchSnapshot
	case KindWatchDelta:
		return &a.WatchDelta
	case KindWatchResync:
		return &a.WatchResync
	case KindWatchEnd:
		return &a.WatchEnd
	case KindSessionDetached:
		return &a.SessionDetached
	case KindSessionEnded:
		return &a.SessionEnded
	case KindRoutingChanged:
		return &a.RoutingChanged
	case KindGoingAway:
		return &a.GoingAway
	}
	return nil
}

// AnswerDecoder reads what hosts send. It is meant to be kept, one for each goroutine that decodes:
// decoding allocates nothing but the strings of failures.
type AnswerDecoder struct {
	codec  *codec
	answer Answer
}

// NewAnswerDecoder returns a decoder.
func NewAnswerDecoder() *AnswerDecoder {
	return &AnswerDecoder{codec: newCodec()}
}

// Decode reads the payload of one frame. The answer is the decoder's own and is valid until the next
// call; the texts, bytes and lists in it are views into the payload, to be copied by who keeps them,
// except for those of a Result. An error is always a *DecodeError; one whose UnknownKind is set comes
// from a later version of the protocol, and clients go on.
func (d *AnswerDecoder) Decode(payload []byte) (*Answer, error) {
	c := d.codec
	a := &d.answer
	a.Kind, a.ID = c.open(payload)
	a.Result = Result{}
	if c.opened {
		if m := a.Message(); m != nil {
			c.result(&a.Result)
			m.answerFields(c)
		} else if m := a.Push(); m != nil {
			m.pushFields(c)
		} else {
			c.failKind()
		}
	}
	if err := c.close(a.Kind, a.ID); err != nil {
		return nil, err
	}
	return a, nil
}
