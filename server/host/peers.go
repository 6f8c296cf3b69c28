package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/bootstrap"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/join"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

const (
	// askWithin is how long a starting host waits for remote hosts to refuse the start.
	askWithin = time.Second
	// startRequest is a starting host's request. The answer is irrelevant: the handshake refuses a host that must not
	// start.
	startRequest = `{"start":{}}`
)

// openPeers opens the connections between hosts, if the host listens for remote hosts. A host in a cluster with
// several hosts must listen.
func (h *Host) openPeers() (err error) {
	s := &h.settings
	book, err := h.directory.ReadBook()
	if err != nil {
		return &Error{KindData, err}
	}
	members := h.knownBy(book)
	if h.raftListener == nil && (len(h.identity.InitialMembers) > 1 || h.identity.Joined()) {
		return &Error{KindSettings, aboutSetting("raft-listen", fmt.Errorf("the other hosts in the cluster must "+
			"be able to reach host %s; give the address to listen on for them", s.Name))}
	}
	if h.raftListener == nil {
		return nil
	}
	config := rafttransport.Config{
		Identity: h.asPeer(), Hosts: reachable(members), Secret: h.raftSecret, Listener: h.raftListener,
		Admit: h.admit, Answer: h.answer, TurnedAway: h.turnedAway, OneSecret: h.differInSecret,
		Kept:    h.announceLedTo,
		Logger:  newEngineLog(h.log),
		Refused: func(reason rafttransport.Refusal) { h.raftRefused[reason].Add(1) },
	}
	if s.RaftTLSCert != "" {
		files := rafttransport.TLS{CAFile: s.RaftTLSCA, CertFile: s.RaftTLSCert, KeyFile: s.RaftTLSKey}
		if config.TLS, err = files.Load(); err != nil {
			return &Error{KindSettings, aboutSetting("raft-tls-cert", err)}
		}
	}
	switch {
	case h.identity.Bootstrapped():
	case s.Joins():
		h.joining.Store(join.NewRunner(h.newcomer()))
	default:
		candidate := bootstrap.NewInitializer(h.plan(), s.Name, h.directory)
		h.bootstrapping.Store(bootstrap.NewRunner(candidate, h.raftSecret, h.callUnnamed))
	}
	h.peers.Store(rafttransport.Open(config))
	return nil
}

// asPeer returns the host's identity for remote hosts. A host has no id before its bootstrap.
func (h *Host) asPeer() rafttransport.Identity {
	peer := rafttransport.Identity{
		Host: h.identity.HostID, Incarnation: h.identity.Incarnation, Start: h.start,
		Generation: rafttransport.Generation(h.identity.Generation),
	}
	if h.identity.Bootstrapped() {
		peer.Deployment = h.identity.Deployment()
	}
	return peer
}

// initialMembers returns the hosts at the cluster's bootstrap.
func initialMembers(id *identity.Identity) map[shard.HostID]hosts.Incarnation {
	all := make(map[shard.HostID]hosts.Incarnation)
	for _, f := range id.InitialMembers {
		all[f.ID] = f.Incarnation
	}
	return all
}

// belong waits until the host is in a cluster: bootstrapped with the hosts in its list, or joined to a cluster. From
// then on, remote hosts know the local host by its id.
func (h *Host) belong() error {
	if joining := h.joining.Load(); joining != nil {
		if err := h.join(joining); err != nil {
			return err
		}
	} else if err := h.bootstrapping.Load().Run(h.ctx); err != nil {
		return err
	}
	h.identity = h.directory.Identity()
	book, err := h.directory.ReadBook()
	if err != nil {
		return err
	}
	members := h.knownBy(book)
	peers := h.peers.Load()
	peers.SetSecret(h.raftSecret)
	peers.Identify(h.asPeer())
	peers.SetHosts(reachable(members))
	what := "the cluster is bootstrapped"
	if h.identity.Joined() {
		what = "the host has joined the cluster"
	}
	h.log.Info(what, "cluster", h.identity.Cluster, "host", uint64(h.identity.HostID), "hosts", len(members),
		"incarnation", h.identity.Incarnation.String())
	return nil
}

// callUnnamed implements peerrpc.CallUnnamed.
func (h *Host) callUnnamed(ctx context.Context, address string, request func(peerrpc.Transcript) ([]byte, error)) (
	[]byte, error) {
	peers := h.peers.Load()
	if peers == nil {
		return nil, errStarting
	}
	return peers.CallUnnamed(ctx, address, func(p rafttransport.Peer) ([]byte, error) {
		return request(p.Transcript)
	})
}

// answer answers remote hosts' calls.
func (h *Host) answer(ctx context.Context, peer rafttransport.Peer, request []byte) ([]byte, error) {
	bootstrapping, joinServer := h.bootstrapping.Load(), h.joinServer.Load()
	switch {
	case string(request) == startRequest:
		return []byte(startRequest), nil
	case string(request) == bookRequest:
		return h.answerBook(&peer)
	case isLeads(request):
		return h.answerLed(&peer, request)
	case join.IsRequest(request) && joinServer != nil:
		caller := join.Caller{Transcript: peer.Transcript, Certificate: peer.Certificate}
		return joinServer.Answer(ctx, caller, request)
	case join.IsRequest(request):
		return nil, h.awaited()
	case !bootstrap.IsAsk(request):
		return h.answerHost(ctx, &peer, request)
	case bootstrapping != nil:
		return bootstrapping.Answer(peer.Transcript, request)
	case h.joining.Load() != nil && h.core.Load() == nil:
		return nil, h.awaited()
	}
	return bootstrap.AnswerAsMember(peer.Transcript, h.raftSecret, &h.identity, request)
}

// admit returns an error if a named host is not accepted as a peer. An admitted host's start has been written to
// disk.
func (h *Host) admit(peer rafttransport.Peer) error {
	member := h.member(peer.Host)
	if member == nil {
		h.learn(peer.Host)
		member = h.member(peer.Host)
	}
	if member == nil {
		return refused(rafttransport.CodeNotNow, "host %d is not recorded here", peer.Host)
	}
	if peer.Certificate != nil && !peer.CertifiedAs(member.Name) {
		return refused(rafttransport.CodeOtherCertificate, "the certificate does not contain the name of host %d, %q",
			peer.Host, member.Name)
	}
	if member.Incarnation != peer.Incarnation {
		return refused(rafttransport.CodeOtherIncarnation, "host %s had incarnation %s, but this data directory "+
			"has incarnation %s. %s", member.Name, member.Incarnation, peer.Incarnation,
			replaceAdvice(h.settings.RaftAdvertise, member.Name))
	}
	if member.Expelled {
		return refused(rafttransport.CodeExpelled, "host %s was expelled from the cluster. To join again, use an "+
			"empty --data-dir: signalbox serve --join %s --name %[1]s", member.Name, h.settings.RaftAdvertise)
	}
	if refusal := h.runsElsewhere(member, peer.Start); refusal != nil {
		return refusal
	}
	if peer.Behind != nil {
		return h.olderCopy(member, peer.Behind)
	}
	err := h.seen.See(peer.Incarnation, peer.Start)
	if err == nil && peer.Start.IsCopy(member.Start) {
		err = fmt.Errorf("%w: this is start number %d, but start number %d is recorded", identity.ErrCopy,
			peer.Start.Number, member.Start.Number)
	}
	if errors.Is(err, identity.ErrCopy) {
		return h.olderCopy(member, err)
	}
	if err == nil {
		h.meet(peer.Incarnation, peer.Start)
	}
	return err
}

// olderCopy refuses a host that has lost entries after confirming them.
func (h *Host) olderCopy(member *identity.Known, why error) *rafttransport.Refused {
	return refused(rafttransport.CodeOlderCopy, "the data directory of host %s is an older copy: %v. The copy "+
		"lacks entries that the host confirmed later. "+
		"%s", member.Name, why, replaceAdvice(h.settings.RaftAdvertise, member.Name))
}

func refused(code rafttransport.Code, format string, args ...any) *rafttransport.Refused {
	return &rafttransport.Refused{Code: code, Text: fmt.Sprintf(format, args...)}
}

// replaceAdvice says which command to run on the machine of a host that has lost confirmed entries. address is a
// remote host's address.
func replaceAdvice(address, name string) string {
	return fmt.Sprintf("Restore the latest directory, or empty it and join as a new host: signalbox serve --join "+
		"%s --name %s --replace %s, with the other settings of the host and without "+
		"--initial-hosts", address, name, name)
}

// turnedAway is called if a remote host refuses the local host. A host that must never participate again cannot
// continue.
func (h *Host) turnedAway(r *rafttransport.Refused) {
	if isFinal(r) {
		h.halt(r)
	}
}

// isFinal reports whether a refusal is about the host itself. A refusal caused by a wrong peer address is not final.
func isFinal(r *rafttransport.Refused) bool {
	switch r.Code {
	case rafttransport.CodeOtherIncarnation, rafttransport.CodeOlderCopy, rafttransport.CodeExpelled,
		rafttransport.CodeOtherGeneration:
		return r.By != 0
	}
	return false
}

// askPeers asks the other hosts for a reason why the local host must not start. Hosts that do not answer in time are
// ignored: they may need the local host to become ready.
func (h *Host) askPeers() error {
	peers := h.peers.Load()
	if peers == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(h.ctx, askWithin)
	defer cancel()
	var asked sync.WaitGroup
	refusals := make(chan error, len(*h.known.Load()))
	for _, m := range *h.known.Load() {
		if m.ID == h.identity.HostID {
			continue
		}
		asked.Go(func() {
			_, err := peers.Call(ctx, m.ID, []byte(startRequest))
			if r, ok := errors.AsType[*rafttransport.Refused](err); ok && isFinal(r) {
				refusals <- r
			}
		})
	}
	asked.Wait()
	select {
	case err := <-refusals:
		return &Error{KindData, err}
	default:
		return h.Err() // refused meanwhile
	}
}

// rejoin asks the other hosts whether they refuse the local host, which was stalled: they may have replaced it
// meanwhile.
func (h *Host) rejoin() {
	if err := h.askPeers(); err != nil {
		h.halt(err)
	}
}

// differInSecret records and logs once that only one host in a pair, the local host or the peer, has a cluster
// secret.
func (h *Host) differInSecret(other rafttransport.Host) {
	text := fmt.Sprintf("the host at %s has a cluster secret, but this host has none, so the hosts cannot "+
		"communicate; start this host with the --raft-secret-file of the other hosts, or restore the secret in "+
		"%s",
		other.Address, filepath.Join(h.settings.DataDir, identity.SecretName))
	if len(h.raftSecret) > 0 {
		text = fmt.Sprintf("the host at %s has no cluster secret, but this host has one, so the hosts cannot "+
			"communicate; start all hosts with the same --raft-secret-file", other.Address)
	}
	if h.oneSecret.Swap(&text) == nil {
		h.log.Error(text)
	}
}

// readiness returns whether a running host serves. A missing cluster secret is reported too.
func (h *Host) readiness(core *server.Host) replica.Readiness {
	is := core.Readiness()
	if is.Lacks == nil {
		h.oneSecret.Store(nil)
	} else if text := h.oneSecret.Load(); text != nil {
		is.Lacks = fmt.Errorf("%w: %s", is.Lacks, *text)
	}
	return is
}

// raftCertificateExpires returns the expiry time of the certificate for remote hosts, zero if the host has no
// certificate.
func (h *Host) raftCertificateExpires() time.Time {
	if peers := h.peers.Load(); peers != nil {
		return peers.CertificateExpires()
	}
	return time.Time{}
}

// closePeers ends all connections to remote hosts.
func (h *Host) closePeers() {
	peers := h.peers.Load()
	if peers == nil && h.raftListener != nil {
		h.raftListener.Close()
	}
	if peers == nil {
		return
	}
	if err := peers.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		h.log.Warn("closing the connections to other hosts", "error", err)
	}
}

// raftReplicas starts and discards replicas on a running host. raftReplicas implements replica.Replicas.
type raftReplicas struct{ *raftlog.Host }

// Last implements replica.Replicas.
func (r raftReplicas) Last(id uint64) (term, index uint64) {
	at, err := r.Remnant(id)
	if err != nil {
		return 0, 0
	}
	return at.Term, at.Index
}

// calls returns the calls to remote hosts, nil if the host has no connections to remote hosts.
func (h *Host) calls() executor.Calls {
	if peers := h.peers.Load(); peers != nil {
		return peers
	}
	return nil
}

// answerHost answers a call on behalf of the server.
func (h *Host) answerHost(ctx context.Context, peer *rafttransport.Peer, request []byte) ([]byte, error) {
	core := h.core.Load()
	if core == nil {
		return nil, errStarting
	}
	return core.Answer(ctx, peer.Host, request)
}
