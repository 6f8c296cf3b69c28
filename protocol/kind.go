package protocol

import "strconv"

// Kind says what a message is. The numbers are part of the protocol: they never change their meaning and
// are never used again. All fit into msgpack's one-byte integers.
type Kind uint8

// Requests go from the client to the host. Each is answered once, with the kind that is larger by
// AnswerOffset.
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
	KindWatch             Kind = 32
	KindWatchStop         Kind = 33
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
)

const (
	// AnswerOffset is the distance from a request's kind to its answer's.
	AnswerOffset Kind = 64
	// maxRequest is the last number that a request may have, so that its answer lies below the pushes.
	maxRequest Kind = 47
	// minPush is the first number that a push may have.
	minPush Kind = 112
	// maxKind is the last number of all.
	maxKind Kind = 127
)

var requestNames = [maxRequest + 1]string{
	KindHello:             "HELLO",
	KindPing:              "PING",
	KindRouting:           "ROUTING",
	KindHostStatus:        "HOST_STATUS",
	KindNodeCreate:        "NODE_CREATE",
	KindNodeDescribe:      "NODE_DESCRIBE",
	KindNodeAlter:         "NODE_ALTER",
	KindNodeDrop:          "NODE_DROP",
	KindNodeList:          "NODE_LIST",
	KindSessionStart:      "SESSION_START",
	KindSessionAttach:     "SESSION_ATTACH",
	KindSessionBind:       "SESSION_BIND",
	KindSessionStop:       "SESSION_STOP",
	KindSessionDestroy:    "SESSION_DESTROY",
	KindSessionDescribe:   "SESSION_DESCRIBE",
	KindSessionList:       "SESSION_LIST",
	KindSessionHoldings:   "SESSION_HOLDINGS",
	KindSemaphoreCreate:   "SEMAPHORE_CREATE",
	KindSemaphoreUpdate:   "SEMAPHORE_UPDATE",
	KindSemaphoreDelete:   "SEMAPHORE_DELETE",
	KindAcquire:           "ACQUIRE",
	KindRelease:           "RELEASE",
	KindSemaphoreDescribe: "SEMAPHORE_DESCRIBE",
	KindSemaphoreList:     "SEMAPHORE_LIST",
	KindWatch:             "WATCH",
	KindWatchStop:         "WATCH_STOP",
}

var pushNames = [maxKind - minPush + 1]string{
	KindGranted - minPush:         "GRANTED",
	KindTimedOut - minPush:        "TIMED_OUT",
	KindAborted - minPush:         "ABORTED",
	KindChanged - minPush:         "CHANGED",
	KindHoldingLost - minPush:     "HOLDING_LOST",
	KindWatchSnapshot - minPush:   "WATCH_SNAPSHOT",
	KindWatchDelta - minPush:      "WATCH_DELTA",
	KindWatchResync - minPush:     "WATCH_RESYNC",
	KindWatchEnd - minPush:        "WATCH_END",
	KindSessionDetached - minPush: "SESSION_DETACHED",
	KindSessionEnded - minPush:    "SESSION_ENDED",
	KindRoutingChanged - minPush:  "ROUTING_CHANGED",
	KindGoingAway - minPush:       "GOING_AWAY",
}

// IsRequest says whether the number lies where requests do, known or not.
func (k Kind) IsRequest() bool {
	return k >= 1 && k <= maxRequest
}

// IsAnswer says whether the number lies where answers do, known or not.
func (k Kind) IsAnswer() bool {
	return k > AnswerOffset && k <= AnswerOffset+maxRequest
}

// IsPush says whether the number lies where pushes do, known or not.
func (k Kind) IsPush() bool {
	return k >= minPush && k <= maxKind
}

// Answer returns the kind of the answer to a request of this kind.
func (k Kind) Answer() Kind {
	return k + AnswerOffset
}

// String returns the kind as the docs write it, or its number where it is not known here. An answer has
// the name of its request with _ANSWER behind it, but for WELCOME and PONG.
func (k Kind) String() string {
	name := ""
	switch {
	case k == KindHello.Answer():
		name = "WELCOME"
	case k == KindPing.Answer():
		name = "PONG"
	case k.IsRequest():
		name = requestNames[k]
	case k.IsAnswer():
		name = requestNames[k-AnswerOffset]
		if name != "" {
			name += "_ANSWER"
		}
	case k.IsPush():
		name = pushNames[k-minPush]
	}
	if name == "" {
		return "KIND_" + strconv.Itoa(int(k))
	}
	return name
}
