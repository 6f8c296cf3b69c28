package admin

import (
	"bytes"
	"context"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
)

// JoinToken lets one host join the cluster. The secret is not included, because the CreateJoinToken caller generates
// it.
type JoinToken = host.JoinToken

// JoinInfo has everything that a new host needs in addition to its token's secret.
type JoinInfo struct {
	Token JoinToken
	// Addresses are the Raft addresses in the cluster. Authority is the SHA-256 of the hosts' certificate or their CA
	// certificate; nil if the hosts do not use TLS.
	Addresses []string
	Authority []byte
}

// CreateJoinToken creates a join token from an id and the SHA-256 of a secret. The caller generates both, so hosts
// never see the secret. The command "signalbox host join-token create" creates a complete token. The token admits one
// host and expires after the duration valid.
func (a *Admin) CreateJoinToken(ctx context.Context, id string, hash [32]byte, valid time.Duration, by ChangeInfo,
) (*JoinInfo, error) {
	m := &protocol.JoinToken{Operation: by.operation(), Action: protocol.TokenCreate, ID: protocol.View(id),
		Hash: hash[:], ValidMillis: uint64(valid.Milliseconds())}
	var j JoinInfo
	err := a.change(ctx, OpCreateToken, id, m, &m.Operation, func(a *protocol.Answer) uint64 {
		j = JoinInfo{Authority: bytes.Clone(a.JoinToken.Authority)}
		for _, t := range a.JoinToken.Tokens {
			j.Token = t
		}
		for x := range a.JoinToken.Addresses.All() {
			j.Addresses = append(j.Addresses, string(x))
		}
		return a.JoinToken.Since
	})
	return &j, err
}

// RevokeJoinToken makes a join token useless.
func (a *Admin) RevokeJoinToken(ctx context.Context, id string, by ChangeInfo) (changed bool, err error) {
	m := &protocol.JoinToken{Operation: by.operation(), Action: protocol.TokenRevoke, ID: protocol.View(id)}
	err = a.change(ctx, OpRevokeToken, id, m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.JoinToken.Existed
		return a.JoinToken.Since
	})
	return changed, err
}

// JoinTokens returns the cluster's join tokens.
func (a *Admin) JoinTokens(ctx context.Context) (list []JoinToken, err error) {
	m := &protocol.JoinToken{Action: protocol.TokenList}
	err = a.read(ctx, OpListTokens, cluster.MetaLeader, m, func(a *protocol.Answer) {
		list = a.JoinToken.Tokens
	})
	return list, err
}
