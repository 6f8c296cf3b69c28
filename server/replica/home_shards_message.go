package replica

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// homePrefix is the prefix of requests between hosts about sessions whose home shard is on the other host. A build
// that does not know such requests answers with an error.
const homePrefix = `{"home":`

// IsHomeCall reports whether a remote host's call is about sessions.
func IsHomeCall(request []byte) bool { return bytes.HasPrefix(request, []byte(homePrefix)) }

// homeRequest is a call about sessions: notifications, questions, or both.
type homeRequest struct {
	Home homeCall `json:"home"`
}

type homeCall struct {
	// Ended are ended sessions, reported by a host with a replica of their home shard.
	Ended []EndedSession `json:"ended,omitempty"`
	// Asked are sessions the caller has as remote sessions or in bindings: the caller wants to be notified when they
	// end.
	Asked packedSessions `json:"asked,omitempty"`
	// Lost are holdings that sessions have lost, for the home shard's leader.
	Lost []lostHolding `json:"lost,omitempty"`
	// Losses counts the holdings the asked sessions have lost in shards the caller leads.
	Losses []sessionLosses `json:"losses,omitempty"`
	// One is a question about one session, for a caller that waits.
	One *askedSession `json:"one,omitempty"`
	// Shown are the sessions the caller wants to display. Parts are the shards in which the answering host counts the
	// sessions' holdings.
	Shown packedSessions `json:"shown,omitempty"`
	Parts []uint64       `json:"parts,omitempty"`
	// Leads are shards whose leaders the caller wants to know.
	Leads []uint64 `json:"leads,omitempty"`
	// shown is Shown before the call is limited and packed.
	shown []shard.SessionID
}

// ledShard is a shard and its leader, as known to a host with a replica of the shard.
type ledShard struct {
	Shard  uint64       `json:"shard"`
	Leader shard.HostID `json:"leader"`
	Term   uint64       `json:"term"`
}

// EndedSession is an ended session with the reason.
type EndedSession struct {
	ID     shard.SessionID    `json:"id"`
	Reason protocol.EndReason `json:"reason,omitempty"`
}

// askedSession asks whether a session is alive, subject to the answering host's freshness, and whether the session
// has a given key.
type askedSession struct {
	ID  shard.SessionID `json:"id"`
	Key []byte          `json:"key,omitempty"`
}

// homeAnswer answers a homeCall, field by field.
type homeAnswer struct {
	// Liveness has a byte for every asked session.
	Liveness []byte `json:"liveness,omitempty"`
	// Elsewhere lists the home shards among the lost holdings the answering host does not lead.
	Elsewhere []uint64           `json:"elsewhere,omitempty"`
	One       *HomeSession       `json:"one,omitempty"`
	Led       []ledShard         `json:"led,omitempty"`
	Shown     []protocol.Session `json:"shown,omitempty"`
}

// HomeSession is a session as known to a host with a replica of its home shard. The liveness is Unknown if that host
// cannot confirm it.
type HomeSession struct {
	Liveness shard.Liveness `json:"liveness"`
	Node     shard.NodeID   `json:"node,omitempty"`
	Key      bool           `json:"key,omitempty"` // the asked key is the session's key
}

// packedSessions is a list of sessions in ascending order, encoded as differences.
type packedSessions []byte

func packSessions(ids []shard.SessionID) (p packedSessions) {
	slices.Sort(ids)
	before := shard.SessionID(0)
	for _, id := range ids {
		p = binary.AppendUvarint(p, uint64(id-before))
		before = id
	}
	return p
}

var errNotPacked = errors.New("server: cannot decode a session list from another host")

func (p packedSessions) unpack() (ids []shard.SessionID, err error) {
	for at := shard.SessionID(0); len(p) > 0; {
		difference, n := binary.Uvarint(p)
		if n <= 0 || len(ids) == maxHomeItems {
			return nil, errNotPacked
		}
		at += shard.SessionID(difference)
		ids, p = append(ids, at), p[n:]
	}
	return ids, nil
}

// maxHomeItems is the maximum length of every list in a call: a call with three full lists fits on a persistent
// connection.
const maxHomeItems = 4096

func (c *homeCall) empty() bool { return len(c.Ended)+len(c.Asked)+len(c.Lost) == 0 }

func encodeHome(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("replica: a call about sessions has no form: " + err.Error()) // numbers and bytes only
	}
	return text
}
