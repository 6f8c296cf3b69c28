package server

import (
	"net"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/overview"
	"github.com/signalbox/signalbox/shard/meta"
)

// joinToken makes, lists or revokes tokens for hosts that join. The client itself has drawn the secret of a new
// token: no host has the secret.
func (c *conn) joinToken(r *protocol.Request) {
	m := &r.Token
	switch m.Verb {
	case protocol.TokenList:
		c.listTokens(r)
	case protocol.TokenRevoke:
		c.operate(r, &m.Operation, &meta.TokenRevoke{ID: string(m.ID)},
			func(e *meta.Effect, since uint64) protocol.AnswerMessage {
				return &protocol.TokenAnswer{Existed: existed(e), Since: since}
			})
	case protocol.TokenCreate:
		c.createToken(r)
	default:
		c.failure(r, protocol.StatusBadRequest, "nothing that is done with join tokens is "+m.Verb.String())
	}
}

// listTokens answers with all tokens. A client with the right to make tokens may also see the authors of the rest.
func (c *conn) listTokens(r *protocol.Request) {
	if !c.authorize(r, everywhere, "") || !c.leadsMeta(r) {
		return
	}
	h, id, kind := c.host, r.ID, r.Kind
	c.confirmMeta(r, func() {
		t, ok := h.meta.Machine.Topology()
		if !ok {
			c.Fail(id, kind, &notFounded)
			return
		}
		a := h.joining(&t)
		a.Tokens = overview.Tokens(t.Records, t.Clock.Now)
		c.Answer(id, a)
	})
}

// createToken makes a token, unless no host could use the token.
func (c *conn) createToken(r *protocol.Request) {
	h, m := c.host, &r.Token
	var hash [protocol.MaxHashBytes]byte
	if len(m.Hash) != len(hash) {
		c.failure(r, protocol.StatusBadRequest, "the hash of a secret has 32 bytes")
		return
	}
	copy(hash[:], m.Hash)
	t, ok := h.meta.Machine.Topology()
	if ok && h.joining(&t).Addresses.Len() == 0 && c.permits(r.Kind, everywhere, "") {
		c.failure(r, protocol.StatusPreconditionFailed, "no other host can reach this cluster: start its host again "+
			"with --raft-listen HOST:PORT, on an address of its network, and with the same data directory")
		return
	}
	id, millis := string(m.ID), m.ValidMillis
	c.operate(r, &m.Operation, &meta.TokenCreate{ID: id, Hash: hash, Millis: millis},
		func(e *meta.Effect, since uint64) protocol.AnswerMessage {
			t, _ := h.meta.Machine.Topology()
			a := h.joining(&t)
			a.Existed, a.Since = existed(e), since
			a.Tokens = overview.Tokens(t.Records, t.Clock.Now, id)
			return a
		})
}

// joining is the information for a new host besides a token: the addresses of the hosts, and how to recognise them.
func (h *Host) joining(t *meta.Topology) *protocol.TokenAnswer {
	a := &protocol.TokenAnswer{}
	if h.config.Authority != nil {
		a.Authority = h.config.Authority()
	}
	for _, x := range t.Records.Hosts() {
		if _, _, err := net.SplitHostPort(x.Addresses.Raft); err == nil && x.Wanted() {
			a.Addresses.Append(protocol.Address(x.Addresses.Raft))
		}
	}
	return a
}
