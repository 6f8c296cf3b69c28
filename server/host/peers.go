package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// openPeers listens for other hosts, where there are any.
func (h *Host) openPeers() error {
	s := &h.settings
	if !s.HasPeers() {
		return nil
	}
	config := rafttransport.Config{
		Identity: rafttransport.Identity{
			Host: h.identity.HostID, Incarnation: h.incarnationOf(h.identity.HostID),
			Deployment: h.identity.Deployment(),
		},
		Secret: h.raftSecret, Logger: newEngineLog(h.log),
		Refused: func(reason rafttransport.Refusal) { h.raftRefused[reason].Add(1) },
	}
	for _, first := range h.identity.FirstHosts {
		config.Hosts = append(config.Hosts, rafttransport.Host{
			ID: first.ID, Name: first.Name, Incarnation: h.incarnationOf(first.ID), Address: first.Raft,
		})
	}
	var err error
	if s.RaftTLSCert != "" {
		files := rafttransport.TLS{CAFile: s.RaftTLSCA, CertFile: s.RaftTLSCert, KeyFile: s.RaftTLSKey}
		if config.TLS, err = files.Load(); err != nil {
			return &Error{KindSettings, aboutSetting("raft-tls-cert", err)}
		}
	}
	if config.Listener, err = net.Listen("tcp", s.RaftListen); err != nil {
		return &Error{logKind(err), aboutSetting("raft-listen", err)}
	}
	h.peers = rafttransport.Open(config)
	return nil
}

// incarnationOf is that of a host that the cluster began with.
func (h *Host) incarnationOf(id shard.HostID) (i hosts.Incarnation) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", h.identity.Cluster, id))
	copy(i[:], sum[:])
	return i
}

// founders are the hosts that the cluster began with.
func (h *Host) founders() map[shard.HostID]hosts.Incarnation {
	founders := make(map[shard.HostID]hosts.Incarnation)
	for _, first := range h.identity.FirstHosts {
		founders[first.ID] = h.incarnationOf(first.ID)
	}
	return founders
}

// raftCertificateExpires returns when the certificate expires that this host shows to others, the zero time where it
// shows none.
func (h *Host) raftCertificateExpires() time.Time {
	if h.peers == nil {
		return time.Time{}
	}
	return h.peers.CertificateExpires()
}

// closePeers ends all connections to other hosts.
func (h *Host) closePeers() {
	if h.peers == nil {
		return
	}
	if err := h.peers.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		h.log.Warn("closing the connections to other hosts", "error", err)
	}
}
