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
	SemaphoreResize   SemaphoreResizeAnswer
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
	request := a.Kind - AnswerOffset
	if request > maxRequest2 {
		return nil
	}
	message := requestTable[request].answer
	if message == nil {
		return nil
	}
	return message(a)
}

// Push returns a pointer to the field that Kind names if that is a push, or nil.
func (a *Answer) Push() PushMessage {
	place := a.Kind - minPush1
	if place > maxPush2-minPush1 {
		return nil
	}
	message := pushTable[place].push
	if message == nil {
		return nil
	}
	return message(a)
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
// except for those of a Result. An error is always a *DecodeError. One whose UnknownKind is set is of a message
// that is not known here: a client ignores it, unless it is an answer and its id is that of an open request.
// The refusal of a request can be read whatever the request's kind.
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
		} else if a.Kind.IsAnswer() {
			d.unknownAnswer()
		} else {
			c.failKind()
		}
	}
	if err := c.close(a.Kind, a.ID); err != nil {
		return nil, err
	}
	return a, nil
}

// unknownAnswer reads the answer to a request that is not known here. Every answer begins with its outcome, and a
// refusal has nothing behind it, so a refusal can be read.
func (d *AnswerDecoder) unknownAnswer() {
	d.codec.result(&d.answer.Result)
	if d.codec.err == nil && d.answer.Result.Status == StatusSuccess {
		d.codec.failKind()
	}
}
