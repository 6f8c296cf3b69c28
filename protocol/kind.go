package protocol

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol/access"
)

// Kind identifies a message type. The numbers are part of the protocol: a number never changes its meaning and is never
// reused. operations.go has the numbers in use.
//
// Kinds are in two blocks. First-block kinds fit into msgpack's one-byte integers, and every peer with this protocol
// version accepts first-block messages. A second-block message goes only to a peer that has announced the kind, see
// KindSet.
type Kind uint16

// AnswerOffset is the distance from a request's kind to its answer's kind.
const AnswerOffset Kind = 64

// The first and the last number for each part of a block.
const (
	minRequest1, maxRequest1 Kind = 1, 47
	minPush1, maxPush1       Kind = 112, 127
	minRequest2, maxRequest2 Kind = 128, 191
	minPush2, maxPush2       Kind = 256, 319

	// Second-block requests sent only between hosts.
	minOfHost, maxOfHost             Kind = 176, 178
	minBetweenHosts, maxBetweenHosts Kind = 188, 189

	// MaxRequestKind is the highest request number.
	MaxRequestKind = maxRequest2
	// maxKind is the highest number a frame can have as its kind.
	maxKind Kind = 1<<16 - 1
)

// IsRequest reports whether the number is in the request range, known or not.
func (k Kind) IsRequest() bool {
	return k >= minRequest1 && k <= maxRequest1 || k >= minRequest2 && k <= maxRequest2
}

// IsAnswer reports whether the number is in the answer range, known or not.
func (k Kind) IsAnswer() bool {
	k -= AnswerOffset
	return k >= minRequest1 && k <= maxRequest1 || k >= minRequest2 && k <= maxRequest2
}

// IsPush reports whether the number is in the push range, known or not.
func (k Kind) IsPush() bool {
	return k >= minPush1 && k <= maxPush1 || k >= minPush2 && k <= maxPush2
}

// Answer returns the kind for answers to this request kind.
func (k Kind) Answer() Kind {
	return k + AnswerOffset
}

// String returns the kind as the docs write it, or the number if unknown. An answer has the request's name followed by
// _ANSWER, except WELCOME and PONG.
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

// Right returns the right required for a request with this kind; if several are set, one is enough. The right for an
// unknown kind is RightNone.
func (k Kind) Right() Right {
	if row := requestOf(k); row != nil {
		return row.right
	}
	return RightNone
}

// requestOf returns a request kind's row, nil if unknown.
func requestOf(k Kind) *requestRow {
	if k > maxRequest2 || requests[k].name == "" {
		return nil
	}
	return &requests[k]
}

// isPush reports whether a kind is a push known to this build.
func isPush(k Kind) bool {
	at := k - minPush1 // wraps around to a large number for a lower kind
	return at <= maxPush2-minPush1 && pushes[at] != ""
}

// Right is a client permission. Package protocol/access declares the rights.
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

// KindSet holds the second-block kinds announced by a peer. A host's Welcome announces the supported requests; a
// client's Hello announces the supported pushes. The zero value holds no kind, like the announcement from a peer
// without support for the second block.
type KindSet struct {
	words [(maxPush2 - minRequest2 + 1) / 64]uint64
}

// Allows reports whether a message with the kind may be sent to the announcing peer. First-block kinds may be sent to
// every peer.
func (s *KindSet) Allows(k Kind) bool {
	return k < minRequest2 || s.has(k)
}

func (s *KindSet) has(k Kind) bool {
	at := k - minRequest2
	return k <= maxPush2 && s.words[at/64]&(1<<(at%64)) != 0
}

// ReadKinds returns the set announced by a peer, without numbers outside the known blocks.
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

// RequestKinds are the known second-block requests that clients may send, for a host's Welcome.
func RequestKinds() Kinds { return secondBlock(minRequest2, maxRequest2) }

// PushKinds are the known second-block pushes, for a client's Hello.
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

// KindNumber is a kind as a list item, with room for every number a peer can send.
type KindNumber uint64

func (n *KindNumber) item(c *codec) { c.uint("", (*uint64)(n)) }
