package admin

import (
	"bytes"
	"context"
	"encoding/hex"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// JoinToken lets one host join. Its secret is not here: who made it has drawn that.
type JoinToken struct {
	ID   string
	Left time.Duration // for how long it is good
	By   string
	Used string // the incarnation of the host that has joined by it, empty for none
}

// Joining is what a newcomer needs besides the secret of its token.
type Joining struct {
	Token JoinToken
	// Addresses are where it reaches the hosts of the cluster, and Authority is the SHA-256 of the certificate, or of
	// that of its authority, which they show there; nil where they speak without TLS.
	Addresses []string
	Authority []byte
}

// CreateJoinToken makes a join token of an id and a hash: the SHA-256 of a secret. The caller has drawn both, so that
// no host gets the secret; signalbox host join-token makes a whole token. It is good for one host, and for so long.
func (a *Admin) CreateJoinToken(ctx context.Context, id string, hash [32]byte, valid time.Duration, by By,
) (*Joining, error) {
	m := &protocol.Token{Operation: by.operation(), Verb: protocol.TokenCreate, ID: protocol.View(id), Hash: hash[:],
		ValidMillis: uint64(valid.Milliseconds())}
	var j Joining
	err := a.change(ctx, OpCreateToken, id, m, &m.Operation, func(a *protocol.Answer) uint64 {
		j = Joining{Authority: bytes.Clone(a.Token.Authority)}
		for _, t := range tokensOf(&a.Token.Tokens) {
			j.Token = t
		}
		for x := range a.Token.Addresses.All() {
			j.Addresses = append(j.Addresses, string(x))
		}
		return a.Token.Since
	})
	return &j, err
}

// RevokeJoinToken makes a join token useless.
func (a *Admin) RevokeJoinToken(ctx context.Context, id string, by By) (changed bool, err error) {
	m := &protocol.Token{Operation: by.operation(), Verb: protocol.TokenRevoke, ID: protocol.View(id)}
	err = a.change(ctx, OpRevokeToken, id, m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.Token.Existed
		return a.Token.Since
	})
	return changed, err
}

// JoinTokens returns the join tokens that there are.
func (a *Admin) JoinTokens(ctx context.Context) (list []JoinToken, err error) {
	m := &protocol.Token{Verb: protocol.TokenList}
	err = a.read(ctx, OpListTokens, cluster.MetaLeader, m, func(a *protocol.Answer) {
		list = tokensOf(&a.Token.Tokens)
	})
	return list, err
}

func tokensOf(m *protocol.JoinTokens) (list []JoinToken) {
	for t := range m.All() {
		list = append(list, JoinToken{ID: string(t.ID), Left: conn.Millis(t.LeftMillis), By: string(t.By),
			Used: hex.EncodeToString(t.Used)})
	}
	return list
}
