package join

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/internal/certfile"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Cluster is a host's view of its cluster. Implementations must be safe for concurrent use.
type Cluster interface {
	// Leader returns the meta shard leader, as far as the host knows; 0 for none.
	Leader() shard.HostID
	// Records returns the hosts, and the shard time for judging join tokens. ok is false without records.
	Records() (records *hosts.Records, now uint64, ok bool)
	// Hears reports whether a host has answered recently. The join server calls Hears on the leader.
	Hears(id shard.HostID) bool
	// Join proposes a host for membership, and returns the answer after the local host has applied the command. On an
	// error the outcome is unknown.
	Join(ctx context.Context, j hosts.Join) (hosts.Answer, error)
}

// Config configures a Server.
type Config struct {
	Self shard.HostID
	// Bootstrap and Generation are from the cluster.
	Bootstrap  identity.Bootstrap
	Generation identity.Generation
	// Secret is shared by the hosts; empty for none.
	Secret  []byte
	Cluster Cluster
}

// Server answers hosts that ask to join. Methods are safe for concurrent use.
type Server struct{ config Config }

// NewServer returns a Server.
func NewServer(c Config) *Server { return &Server{config: c} }

const (
	// fallsSilentWithin is how long the host to be replaced may still be reachable, because it may just have failed.
	fallsSilentWithin = 3 * time.Second
	// hearEvery is the interval at which the join server checks whether the host is still reachable.
	hearEvery = 50 * time.Millisecond
)

// Caller is the remote end of a connection on which a host asks to join. The remote end has no name yet.
type Caller struct {
	Transcript  peerrpc.Transcript
	Certificate *x509.Certificate // signed by one of the hosts' authorities; nil without TLS
}

// Answer answers an unnamed host's request.
func (se *Server) Answer(ctx context.Context, from Caller, payload []byte) ([]byte, error) {
	var r request
	if err := decode(payload, &r); err != nil {
		return nil, err
	}
	return json.Marshal(se.answer(ctx, &from, &r))
}

func (se *Server) answer(ctx context.Context, from *Caller, r *request) answer {
	var ask Ask
	if err := decode(r.Ask, &ask); err != nil {
		return refused("%v", err)
	}
	leader := se.config.Cluster.Leader()
	records, now, ok := se.config.Cluster.Records()
	switch {
	case leader == 0:
		return later("the meta shard has no leader at the moment")
	case !ok:
		return later("the cluster has no host records yet")
	case leader != se.config.Self:
		if h := records.Host(leader); h != nil {
			return answer{Leader: h.Addresses.Raft}
		}
		return later("host %d leads the meta shard, but is not recorded here yet", leader)
	}
	proof, why := se.check(from, r, &ask, records, now)
	if why != "" {
		return answer{Refusal: why}
	}
	return se.admit(ctx, from, r, &ask, proof)
}

// shown describes how a host has proven its right to join.
type shown struct {
	token string // token id, empty without a token
	key   []byte // key that seals the grant; nil: not sealed
}

// check returns why a host may not join, in words for the host's operator, or an empty string if it may join.
func (se *Server) check(from *Caller, r *request, ask *Ask, records *hosts.Records, now uint64) (s shown,
	why string) {
	c := &se.config
	if why := se.compare(ask); why != "" {
		return s, why
	}
	if from.Certificate != nil && !certfile.Names(from.Certificate, ask.Name) {
		return s, fmt.Sprintf("the certificate (--raft-tls-cert) has the names %q and %q, but the host name is %s",
			from.Certificate.Subject.CommonName, from.Certificate.DNSNames, ask.Name)
	}
	switch {
	case len(r.SecretProof) > 0 && len(c.Secret) == 0:
		return s, "the cluster has no secret; omit --raft-secret-file"
	case len(r.SecretProof) > 0 && !from.Transcript.Proves(c.Secret, secretLabel, r.Ask, r.SecretProof):
		return s, "the secret in --raft-secret-file is not the cluster secret"
	case len(r.SecretProof) > 0:
		s.key = c.Secret
	}
	if r.Token != "" {
		token := records.Token(now, r.Token, ask.Incarnation)
		if token == nil || !from.Transcript.Proves(token.Hash[:], tokenLabel, r.Ask, r.TokenProof) {
			return s, "the join token is unknown, expired, revoked or used; create another one with signalbox " +
				"host join-token create"
		}
		return shown{r.Token, token.Hash[:]}, ""
	}
	if len(c.Secret) > 0 && s.key == nil {
		return s, "a join token or the cluster secret is required; give --join-token-file with a token from " +
			"signalbox host join-token create, or --raft-secret-file"
	}
	return s, ""
}

// compare describes how the cluster differs from the host's expectations.
func (se *Server) compare(ask *Ask) string {
	bootstrap := &se.config.Bootstrap
	switch {
	case ask.ClusterName != bootstrap.ClusterName && bootstrap.ClusterName == "":
		return fmt.Sprintf("cluster %s has no name; omit --cluster-name %s, or join another "+
			"cluster", bootstrap.Cluster, ask.ClusterName)
	case ask.ClusterName != bootstrap.ClusterName:
		return fmt.Sprintf("the cluster is %s; give --cluster-name %s, or join another cluster", bootstrap.Cluster,
			bootstrap.ClusterName)
	case ask.Shards != 0 && ask.Shards != bootstrap.Shards:
		return fmt.Sprintf("the cluster was created with %d shards; give --shards %d or omit it", bootstrap.Shards,
			bootstrap.Shards)
	}
	return ""
}

// admit adds a host that has proven its right to join.
func (se *Server) admit(ctx context.Context, from *Caller, r *request, ask *Ask, by shown) answer {
	domain, err := host.ParseDomain(ask.Domain)
	if err != nil {
		return refused("--failure-domain: %v", err)
	}
	heard := se.hearsReplaced(ctx, ask)
	got, err := se.config.Cluster.Join(ctx, hosts.Join{
		Cluster: se.config.Bootstrap.Cluster, Name: ask.Name, Incarnation: ask.Incarnation,
		Addresses: hosts.Addresses{Raft: ask.Raft, Client: ask.Client, Admin: ask.Admin}, Domain: domain,
		Version: ask.Version, Level: ask.Level, Replace: ask.Replace, Token: by.token, Trusted: by.token == "",
		Heard: heard,
	})
	switch {
	case err != nil:
		return later("%v", err)
	case isTransient(got.Status):
		return later("%s", got.Text)
	case got.Status != protocol.StatusSuccess:
		return answer{Refusal: got.Text}
	}
	sealed, err := seal(from.Transcript, by.key, r.Ask, se.grant(got.Host, by))
	if err != nil {
		return later("%v", err)
	}
	return answer{Grant: sealed}
}

// isTransient reports whether the same command may get a different answer later.
func isTransient(s protocol.Status) bool {
	return s == protocol.StatusUnavailable || s == protocol.StatusOverloaded || s == protocol.StatusUnsupported
}

// hearsReplaced reports whether the host to be replaced is alive, after waiting briefly for the host to fall silent.
func (se *Server) hearsReplaced(ctx context.Context, ask *Ask) bool {
	if ask.Replace == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, fallsSilentWithin)
	defer cancel()
	for {
		records, _, ok := se.config.Cluster.Records()
		if !ok || records.Incarnated(ask.Incarnation) != nil {
			return false // joined before
		}
		if old := records.Named(ask.Replace); old == nil || !se.config.Cluster.Hears(old.ID) {
			return false
		}
		select {
		case <-ctx.Done():
			return true
		case <-time.After(hearEvery):
		}
	}
}

// grant returns the grant for a host on record.
func (se *Server) grant(id shard.HostID, by shown) *Grant {
	g := &Grant{Host: id, Bootstrap: se.config.Bootstrap, Generation: se.config.Generation}
	records, _, _ := se.config.Cluster.Records()
	for _, h := range records.Hosts() {
		if h.Living() {
			g.Hosts = append(g.Hosts, identity.InitialMember{ID: h.ID, Name: h.Name, Incarnation: h.Incarnation,
				Raft: h.Addresses.Raft})
		}
	}
	if by.token != "" {
		g.Secret = se.config.Secret
	}
	return g
}
