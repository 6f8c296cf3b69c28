package protocol

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol/access"
)

// Kind is the kind of a message. The numbers are part of the protocol: a number never changes its meaning and is never
// used again. operations.go has the numbers in use.
//
// Kinds are in two blocks. Kinds of the first block fit into msgpack's one-byte integers, and every peer of this
// version of the protocol accepts messages of the first block. A message of the second block goes only to a peer that
// has announced its kind, see KindSet.
type Kind uint16

// AnswerOffset is the distance from a request's kind to the kind of its answer.
const AnswerOffset Kind = 64

// The first and the last number of each part of a block.
const (
	minRequest1, maxRequest1 Kind = 1, 47
	minPush1, maxPush1       Kind = 112, 127
	minRequest2, maxRequest2 Kind = 128, 191
	minPush2, maxPush2       Kind = 256, 319

	// The requests of the second block that go between hosts only: from a host to the leader of the meta shard, and all
	// others.
	minOfHost, maxOfHost             Kind = 176, 178
	minBetweenHosts, maxBetweenHosts Kind = 188, 189

	// MaxRequestKind is the largest number that a request can have.
	MaxRequestKind = maxRequest2
	// maxKind is the largest number that a frame can have as its kind.
	maxKind Kind = 1<<16 - 1
)

// IsRequest says whether the number is in the range of requests, known or not.
func (k Kind) IsRequest() bool {
	return k >= minRequest1 && k <= maxRequest1 || k >= minRequest2 && k <= maxRequest2
}

// IsAnswer says whether the number is in the range of answers, known or not.
func (k Kind) IsAnswer() bool {
	k -= AnswerOffset
	return k >= minRequest1 && k <= maxRequest1 || k >= minRequest2 && k <= maxRequest2
}

// IsPush says whether the number is in the range of pushes, known or not.
func (k Kind) IsPush() bool {
	return k >= minPush1 && k <= maxPush1 || k >= minPush2 && k <= maxPush2
}

// Answer returns the kind of the answer to a request of this kind.
func (k Kind) Answer() Kind {
	return k + AnswerOffset
}

// String returns the kind as the docs write it, or the number of an unknown kind. An answer has the name of its request
// with _ANSWER behind it, but for WELCOME and PONG.
func (k Kind) String() string {
	request := requestOf(k)
	switch {
	case request != nil:
		return request.name
	case isPush(k):
		return pushes[k-minPush1]
	case k == KindHello.Answer():
		return "WELCOME"
	case k == KindPing.Answer():
		return "PONG"
	}
	if request = requestOf(k - AnswerOffset); request != nil {
		return request.name + "_ANSWER"
	}
	return "KIND_" + strconv.Itoa(int(k))
}

// IsKnown reports whether this build knows the message.
func (k Kind) IsKnown() bool {
	return requestOf(k) != nil || requestOf(k-AnswerOffset) != nil || isPush(k)
}

// Right returns the right that a client needs for a request of this kind; of several rights one is enough. The right
// for an unknown kind is RightNone.
func (k Kind) Right() Right {
	if row := requestOf(k); row != nil {
		return row.right
	}
	return RightNone
}

// requestOf returns the row of a kind of request, nil for an unknown kind.
func requestOf(k Kind) *requestRow {
	if k > maxRequest2 || requests[k].name == "" {
		return nil
	}
	return &requests[k]
}

// isPush reports whether a kind is a push that this build knows.
func isPush(k Kind) bool {
	at := k - minPush1 // wraps around to a large number for a lower kind
	return at <= maxPush2-minPush1 && pushes[at] != ""
}

// Right is a permission of a client. Package protocol/access declares the rights.
type Right = access.Right

// The rights.
const (
	RightNone    = access.None
	RightRead    = access.Read
	RightAcquire = access.Acquire
	RightWrite   = access.Write
	RightDelete  = access.Delete
	RightOperate = access.Operate
	RightAdmin   = access.Admin
	RightCluster = access.Cluster
	RightBackup  = access.Backup
	RightAll     = access.All
	RightSession = access.Session
	RightOpen    = access.Open
)

// KindSet holds the kinds of the second block that a peer has announced. A host announces in its Welcome the requests
// that the host answers; a client announces in its Hello the pushes that the client understands. The zero value holds
// no kind, like the announcement of a peer that does not know the second block.
type KindSet struct {
	words [(maxPush2 - minRequest2 + 1) / 64]uint64
}

// Allows says whether a message of the kind may be sent to the peer that announced the set. Kinds of the first block
// may be sent to every peer.
func (s *KindSet) Allows(k Kind) bool {
	return k < minRequest2 || s.has(k)
}

func (s *KindSet) has(k Kind) bool {
	at := k - minRequest2
	return k <= maxPush2 && s.words[at/64]&(1<<(at%64)) != 0
}

// ReadKinds returns the set that a peer announced, without numbers outside of the known blocks.
func ReadKinds(announced *Kinds) KindSet {
	var s KindSet
	for n := range announced.All() {
		if n >= KindNumber(minRequest2) && n <= KindNumber(maxPush2) {
			at := n - KindNumber(minRequest2)
			s.words[at/64] |= 1 << (at % 64)
		}
	}
	return s
}

// RequestKinds are the known requests of the second block that clients may send, for the Welcome of a host.
func RequestKinds() Kinds { return secondBlock(minRequest2, maxRequest2) }

// PushKinds are the known pushes of the second block, for the Hello of a client.
func PushKinds() Kinds { return secondBlock(minPush2, maxPush2) }

func secondBlock(first, last Kind) (known Kinds) {
	for k := first; k <= last; k++ {
		if k.IsKnown() && !k.BetweenHosts() {
			known.Append(KindNumber(k))
		}
	}
	return known
}

// Kinds is a list of kinds.
type Kinds = List[KindNumber, *KindNumber]

// KindNumber is a kind as an item of a list. A KindNumber holds every number that a peer can send.
type KindNumber uint64

func (n *KindNumber) item(c *codec) { c.uint("", (*uint64)(n)) }
