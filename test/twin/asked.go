package twin

import (
	"math"
	"math/big"

	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// request is a mutation's content, without its acknowledgement.
type request struct {
	node                        shard.NodeID
	name                        string
	kind                        shard.CommandKind
	flags                       shard.CommandFlags
	count, timeout, order, term uint64
	revision                    shard.Revision
	data, body                  string
	wait                        uint64 // acquire wait time: excluded from request identity
}

func requestOf(c *shard.Command) request {
	r := request{
		node: c.Node, name: string(c.Name), kind: c.Kind, flags: c.Flags, count: c.Count, timeout: c.Timeout,
		order: uint64(c.Order), term: c.Term, revision: c.Revision, data: string(c.Data), body: string(c.Body),
	}
	if c.Kind == shard.CmdAcquire {
		r.timeout, r.wait = 0, c.Timeout
	}
	return r
}

// sum is a request's hash, defined in DESIGN.md section 4.
func (r request) sum() uint64 {
	fold := func(a, b uint64) uint64 {
		product := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
		low := new(big.Int).And(product, new(big.Int).SetUint64(math.MaxUint64))
		return product.Rsh(product, 64).Uint64() ^ low.Uint64()
	}
	object := shard.ObjectHash(r.node, []byte(r.name))
	h := fold(object^0x243f6a8885a308d3, (uint64(r.kind)+256*uint64(r.flags))^0x13198a2e03707345) ^
		fold(r.count^0xa4093822299f31d1, r.order^0x082efa98ec4e6c89)
	if r.timeout != 0 || r.term != 0 || r.revision != 0 {
		for _, field := range []uint64{r.timeout, r.term, uint64(r.revision)} {
			h = fold(h^field, 0x452821e638d01377)
		}
	}
	if r.data != "" {
		h = fold(h^xxhash.Sum64String(r.data), 0xbe5466cf34e90c6d)
	}
	if r.body != "" {
		h = fold(h^xxhash.Sum64String(r.body), 0xc0ac29b7c97c50dd)
	}
	if h == 0 {
		return 1
	}
	return h
}

// knowsRequests reports whether a number is bound to one request for the current command.
func (t *Twin) knowsRequests() bool { return t.mistake != AnswersOthers }

// isAnother reports whether the cached answer for a command's number belongs to a different request.
func (t *Twin) isAnother(s *session, c *shard.Command) bool {
	asked, known := s.asked[c.Number]
	_, kept := s.answers[c.Number]
	if t.mistake != AsksForWaits {
		asked.wait = requestOf(c).wait
	}
	return t.knowsRequests() && kept && known && asked != requestOf(c)
}

// refuseAnother answers a command that reuses a different request's number.
func (t *Twin) refuseAnother() { t.answer(shard.Effect{Status: protocol.StatusSequenceReused}) }
