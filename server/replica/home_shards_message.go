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

// homePrefix begins the requests between hosts about sessions with their home at the other host. A build without such
// requests answers with an error.
const homePrefix = `{"home":`

// IsHomeCall reports whether a call of another host is about sessions.
func IsHomeCall(request []byte) bool { return bytes.HasPrefix(request, []byte(homePrefix)) }

// homeRequest is a call about sessions: news, questions, or both.
type homeRequest struct {
	Home homeCall `json:"home"`
}

type homeCall struct {
	// Ended are sessions that are over, reported by a host with a copy of their home.
	Ended []EndedSession `json:"ended,omitempty"`
	// Asked are the sessions of which the caller has remote sessions or bindings: the caller is to be notified of an
	// end.
	Asked packedSessions `json:"asked,omitempty"`
	// Lost are holdings that were taken from sessions, for the leader of the home.
	Lost []lostHolding `json:"lost,omitempty"`
	// Losses are how many holdings the asked sessions have lost in the shards that the caller leads.
	Losses []sessionLosses `json:"losses,omitempty"`
	// One is a question about one session, for a caller that waits.
	One *askedSession `json:"one,omitempty"`
	// Shown are the sessions that the caller wants to show people. Parts are the shards in which the answering host
	// counts what the sessions hold.
	Shown packedSessions `json:"shown,omitempty"`
	Parts []uint64       `json:"parts,omitempty"`
	// Leads are shards whose leaders the caller wants to know.
	Leads []uint64 `json:"leads,omitempty"`
	// shown is Shown before the call is cut and packed.
	shown []shard.SessionID
}

// ledShard is a shard with its leader, as a host with a copy of the shard knows the leader.
type ledShard struct {
	Shard  uint64       `json:"shard"`
	Leader shard.HostID `json:"leader"`
	Term   uint64       `json:"term"`
}

// EndedSession is a session that is over, and why.
type EndedSession struct {
	ID     shard.SessionID    `json:"id"`
	Reason protocol.EndReason `json:"reason,omitempty"`
}

// askedSession asks whether a session lives, behind the freshness of the answering host, and whether the session has a
// key.
type askedSession struct {
	ID  shard.SessionID `json:"id"`
	Key []byte          `json:"key,omitempty"`
}

// homeAnswer answers a homeCall, part by part.
type homeAnswer struct {
	// Liveness has a byte for each asked session.
	Liveness []byte `json:"liveness,omitempty"`
	// Elsewhere are the homes among the lost holdings that the answering host does not lead.
	Elsewhere []uint64           `json:"elsewhere,omitempty"`
	One       *HomeSession       `json:"one,omitempty"`
	Led       []ledShard         `json:"led,omitempty"`
	Shown     []protocol.Session `json:"shown,omitempty"`
}

// HomeSession is a session as a host with a copy of its home knows the session. The liveness is Unknown if that host
// cannot make sure.
type HomeSession struct {
	Liveness shard.Liveness `json:"liveness"`
	Node     shard.NodeID   `json:"node,omitempty"`
	Key      bool           `json:"key,omitempty"` // the asked key is the session's
}

// packedSessions is a list of sessions, in ascending order, as the differences from one to the next.
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

var errNotPacked = errors.New("server: a list of sessions of another host cannot be read")

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

// maxHomeItems bounds each list of a call: a call with three full lists fits onto a kept connection.
const maxHomeItems = 4096

func (c *homeCall) empty() bool { return len(c.Ended)+len(c.Asked)+len(c.Lost) == 0 }

func encodeHome(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("replica: a call about sessions has no form: " + err.Error()) // numbers and bytes only
	}
	return text
}
