package protocol

import "strconv"

// Kind says what a message is. The numbers are part of the protocol: they never change their meaning and
// are never used again.
//
// There are two blocks of them. Those of the first fit into msgpack's one-byte integers, and every peer of this
// version of the protocol can be sent them. A message of the second goes only to a peer that has announced its
// kind, see KindSet.
type Kind uint16

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
	KindSemaphoreResize   Kind = 31
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

// AnswerOffset is the distance from a request's kind to its answer's.
const AnswerOffset Kind = 64

// The first and the last numbers of what each block holds.
const (
	minRequest1, maxRequest1 Kind = 1, 47
	minPush1, maxPush1       Kind = 112, 127
	minRequest2, maxRequest2 Kind = 128, 191
	minPush2, maxPush2       Kind = 256, 319

	// MaxRequestKind is the largest number that a request can have.
	MaxRequestKind = maxRequest2
	// maxKind is the largest number that a frame can have as its kind.
	maxKind Kind = 1<<16 - 1
)

// IsRequest says whether the number lies where requests do, known or not.
func (k Kind) IsRequest() bool {
	return k >= minRequest1 && k <= maxRequest1 || k >= minRequest2 && k <= maxRequest2
}

// IsAnswer says whether the number lies where answers do, known or not.
func (k Kind) IsAnswer() bool {
	return (k - AnswerOffset).IsRequest()
}

// IsPush says whether the number lies where pushes do, known or not.
func (k Kind) IsPush() bool {
	return k >= minPush1 && k <= maxPush1 || k >= minPush2 && k <= maxPush2
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
		name = requestTable[k].name
	case k.IsAnswer():
		name = requestTable[k-AnswerOffset].name
		if name != "" {
			name += "_ANSWER"
		}
	case k.IsPush():
		name = pushTable[k-minPush1].name
	}
	if name == "" {
		return "KIND_" + strconv.Itoa(int(k))
	}
	return name
}
