package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/join"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/server/settings"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// readJoinToken reads the join token, and checks that the host trusts the authority named in the token.
func (h *Host) readJoinToken() error {
	text := h.settings.JoinToken
	if path := h.settings.JoinTokenFile; path != "" {
		content, err := os.ReadFile(path)
		if err != nil {
			return aboutSetting("join-token-file", err)
		}
		text = string(content)
	}
	if text == "" {
		return nil
	}
	token, err := join.ParseToken(text)
	if err != nil {
		return aboutSetting("join-token-file", err)
	}
	trusted, err := h.authorities()
	if err != nil {
		return err
	}
	h.joinToken = &token
	return aboutSetting("join-token-file", token.CheckAuthorities(trusted))
}

// authorities returns the authorities that sign host certificates, or nothing if hosts do not use TLS.
func (h *Host) authorities() ([]join.Authority, error) {
	if h.settings.RaftTLSCA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(h.settings.RaftTLSCA)
	return join.Authorities(text), aboutSetting("raft-tls-ca", err)
}

// newcomer returns the host as a Newcomer that asks to join.
func (h *Host) newcomer() join.Newcomer {
	s := &h.settings
	return join.Newcomer{
		Ask: join.Ask{
			Name: s.Name, Incarnation: h.identity.Incarnation, ClusterName: s.ClusterName, Shards: s.Shards,
			Raft: s.RaftAdvertise, Client: h.addresses.ClientAdvertise, Admin: h.addresses.AdminAdvertise,
			Domain: s.FailureDomain, Version: h.options.Version, Level: level.Newest, Replace: s.Replace,
		},
		Addresses: s.Join, Token: h.joinToken, Secret: h.raftSecret, Record: h.directory,
		Call: func(ctx context.Context, address string, request func(peerrpc.Transcript) ([]byte, error)) ([]byte,
			error) {
			answer, err := h.callUnnamed(ctx, address, request)
			if errors.Is(err, rafttransport.ErrClients) {
				at, port, _ := net.SplitHostPort(address)
				_, usual, _ := net.SplitHostPort(settings.DefaultRaftListen)
				err = fmt.Errorf("%s: port %s is for clients; join at port %s, or at the host's --raft-listen port",
					at, port, usual)
			}
			return answer, err
		},
		Waits: func(why string) { h.log.Warn("the host has not joined yet, and keeps trying", "reason", why) },
	}
}

// join makes the host a member of the cluster named in the settings.
func (h *Host) join(joining *join.Runner) error {
	h.log.Info("joining a cluster", "hosts", strings.Join(h.settings.Join, ","), "incarnation",
		h.identity.Incarnation.String())
	granted, err := joining.Run(h.ctx)
	if refused, ok := errors.AsType[*join.Refused](err); ok {
		return &Error{KindData, refused}
	}
	if err != nil {
		return err
	}
	if len(h.raftSecret) == 0 {
		h.raftSecret = granted.Secret
	}
	return nil
}

// openJoinServer lets remote hosts join through the local host.
func (h *Host) openJoinServer(core *server.Host) {
	h.joinServer.Store(join.NewServer(join.Config{
		Self: h.identity.HostID, Bootstrap: h.identity.Bootstrap, Generation: h.identity.Generation,
		Secret:  h.raftSecret,
		Cluster: core,
	}))
}

// authority returns the authority for a join token, nil if hosts do not use TLS.
func (h *Host) authority() []byte {
	all, err := h.authorities()
	if err != nil {
		h.log.Warn("a join token does not identify the CA of the hosts", "error", err)
	}
	if len(all) == 0 {
		return nil
	}
	return all[0][:]
}
