package cluster

import (
	"net"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/health/overview"
	"github.com/signalbox/signalbox/shard/meta"
)

// joinToken creates, lists or revokes join tokens. The client has drawn the secret for a new token: no host knows the
// secret.
func (h *handlers) joinToken(r *handle.Request) (handle.Reply, error) {
	m := &r.JoinToken
	switch m.Action {
	case protocol.TokenList:
		return h.listTokens(r)
	case protocol.TokenRevoke:
		return h.Operate(r, &m.Operation, &meta.TokenRevoke{ID: string(m.ID)},
			func(e *meta.Effect, since uint64) protocol.AnswerMessage {
				return &protocol.JoinTokenAnswer{Existed: handle.Existed(e), Since: since}
			})
	case protocol.TokenCreate:
		return h.createToken(r)
	}
	return nil, handle.BadRequest("unknown join token operation " + m.Action.String())
}

// listTokens answers with all tokens, including their authors. The required right covers both.
func (h *handlers) listTokens(r *handle.Request) (handle.Reply, error) {
	if err := handle.Authorize(r, handle.Everywhere, ""); err != nil {
		return nil, err
	}
	if err := h.LeadsMeta(); err != nil {
		return nil, err
	}
	return h.topology(func(t *meta.Topology) protocol.AnswerMessage {
		a := h.joining(t)
		a.Tokens = overview.Tokens(t.Records, t.Clock.Now)
		return a
	})
}

// createToken creates a token, unless no host could use the token.
func (h *handlers) createToken(r *handle.Request) (handle.Reply, error) {
	m := &r.JoinToken
	var hash [protocol.MaxHashBytes]byte
	if len(m.Hash) != len(hash) {
		return nil, handle.BadRequest("a secret hash must have 32 bytes")
	}
	copy(hash[:], m.Hash)
	t, ok := h.Meta.Machine.Topology()
	if ok && h.joining(&t).Addresses.Len() == 0 && r.Caller.Permits(r.Kind, handle.Everywhere, "") {
		return nil, handle.Refuse(protocol.StatusPreconditionFailed,
			"no other host can reach the cluster; restart its host with --raft-listen HOST:PORT on a network "+
				"address, and with the same data directory")
	}
	id, millis := string(m.ID), m.ValidMillis
	return h.Operate(r, &m.Operation, &meta.TokenCreate{ID: id, Hash: hash, Millis: millis},
		func(e *meta.Effect, since uint64) protocol.AnswerMessage {
			t, _ := h.Meta.Machine.Topology()
			a := h.joining(&t)
			a.Existed, a.Since = handle.Existed(e), since
			a.Tokens = overview.Tokens(t.Records, t.Clock.Now, id)
			return a
		})
}

// joining returns the information a new host needs in addition to a token: the hosts' addresses, and how to recognise
// the hosts.
func (h *handlers) joining(t *meta.Topology) *protocol.JoinTokenAnswer {
	a := &protocol.JoinTokenAnswer{Authority: h.Authority()}
	for _, x := range t.Records.Hosts() {
		if _, _, err := net.SplitHostPort(x.Addresses.Raft); err == nil && x.Wanted() {
			a.Addresses.Append(protocol.Address(x.Addresses.Raft))
		}
	}
	return a
}
