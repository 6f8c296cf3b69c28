package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/access"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/diskguard"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// fewFiles is a limit of open files that is worth a warning: a busy host needs one for every client.
const fewFiles = 8192

// running is everything of a host that runs. start fills it from top to bottom, stop takes it down from
// bottom to top.
type running struct {
	settings *settings.Settings
	log      *slog.Logger
	lines    *logQueue // that log writes to
	began    time.Time

	directory    *identity.Directory
	tokens       *access.File                 // nil: there are none
	certificates *transport.CertificateSource // nil: clients do not use TLS
	admin        *admin.Server                // nil: it is not wanted
	gate         gate
	stats        transport.Stats
	listeners    []transport.Listener
	identity     identity.Identity
	disk         *diskguard.Guard
	logSyncs     *server.SyncTimes
	logSnapshots *server.SnapshotTransfers
	raftSecret   []byte // nil: there is none
	raftRefused  [raftlog.Refusals]atomic.Uint64
	raft         *raftlog.Host

	// phase is read by the pages of the admin server, which are there before and after the host is.
	phase atomic.Int32
}

// The phases of a host's life.
const (
	phaseStarting = iota
	phaseServing
	phaseStopping
)

// start brings a host up. It returns when the host takes part in its cluster, which may be before it is
// ready. Where it fails nothing is left behind but a directory, which the next start takes.
func start(s *settings.Settings, log *slog.Logger, lines *logQueue) (_ *running, err error) {
	keepFilesPrivate()
	r := &running{settings: s, log: log, lines: lines, began: time.Now(), logSyncs: server.NewSyncTimes(), logSnapshots: new(server.SnapshotTransfers)}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	r.raiseFileLimit()
	if err := r.claim(); err != nil {
		return nil, err
	}
	if err := r.settle(); err != nil {
		return nil, cli.ExitWith(cli.ExitData, err)
	}
	if err := r.openLog(); err != nil {
		return nil, err
	}
	host, err := server.Open(r.config())
	if err != nil {
		return nil, err
	}
	r.gate.host.Store(host)
	r.phase.Store(phaseServing)
	return r, nil
}

// keepFilesPrivate makes all that this process writes 0640 and 0750 at the most, whatever the umask it was started
// with: the engine and its store make their files open to all.
func keepFilesPrivate() { syscall.Umask(syscall.Umask(0o077) | 0o027) }

func (r *running) raiseFileLimit() {
	limit, err := transport.RaiseFileLimit()
	if err != nil {
		r.log.Warn("the limit of open files could not be raised", "limit", limit, "error", err)
	}
	if limit < fewFiles {
		r.log.Warn("the limit of open files is low, and every client connection needs one; "+
			"raise it with ulimit -n, or LimitNOFILE= in a unit of systemd", "limit", limit)
	}
}

// settle makes sure that the directory is this host's.
func (r *running) settle() (err error) {
	s := r.settings
	hosts := make([]identity.Host, 0, len(s.Hosts))
	for i, h := range s.Hosts {
		hosts = append(hosts, identity.Host{ID: shard.HostID(i + 1), Name: h.Name, Raft: h.Raft})
	}
	r.identity, err = r.directory.Settle(identity.Want{
		HostName: s.Name, HostID: s.HostID(), Hosts: hosts, ClusterName: s.Cluster,
		Shards: s.Shards, ShardsOtherwise: settings.DefaultShards, Version: programVersion(),
	})
	if err != nil {
		return err
	}
	r.disk = diskguard.Start(diskguard.Config{
		Volume: diskguard.Directory(s.DataDir), Low: uint64(s.MinFreeDisk), Log: r.log,
	})
	return nil
}

func (r *running) openLog() (err error) {
	s := r.settings
	// Both must outlast an election, which a long tick makes long.
	timeout := max(raftlog.DefaultProposalTimeout, 4*raftlog.DefaultElectionTicks*s.RaftTick)
	config := raftlog.Config{
		Host: r.identity.HostID, DataDir: r.directory.LogPath(), Members: r.identity.Members(),
		Deployment: r.identity.Deployment(), ListenAddress: s.RaftListen, Secret: r.raftSecret,
		Used: r.identity.Started, Damaged: haltProcess,
		Refused: func(reason raftlog.Refusal) { r.raftRefused[reason].Add(1) },
		Tick:    s.RaftTick, ProposalTimeout: timeout, BarrierTimeout: timeout,
		SnapshotEntries: s.RaftSnapshotBatches, KeepEntries: keptBatches(s.RaftSnapshotBatches),
		Synced: r.logSyncs.Observe, Transfers: r.logSnapshots, Metrics: s.RaftMetrics, Logger: newRaftLog(r.log),
	}
	if s.RaftTLSCert != "" {
		config.TLS = &raftlog.TLS{CAFile: s.RaftTLSCA, CertFile: s.RaftTLSCert, KeyFile: s.RaftTLSKey}
	}
	r.raft, err = raftlog.Open(config)
	if err != nil {
		return cli.ExitWith(logCode(err), err)
	}
	return r.directory.Started()
}

// keptBatches is how many batches stay in the log behind a snapshot, where so many lie between two: enough that a host
// which was away for a moment is not sent a snapshot, and little beside what is dropped.
func keptBatches(between int) int { return between / 5 }

// logCode is the code for a log that cannot be opened.
func logCode(err error) int {
	for _, refused := range []error{
		raftlog.ErrDirectoryInUse, raftlog.ErrOtherHost, raftlog.ErrOtherDeployment, raftlog.ErrMembersChanged,
		raftlog.ErrHostnameChanged, raftlog.ErrWorkersChanged, raftlog.ErrFormat, raftlog.ErrDamaged,
	} {
		if errors.Is(err, refused) {
			return cli.ExitData
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
		return cli.ExitUnavailable
	case errors.Is(err, raftlog.ErrConfig):
		return cli.ExitUsage
	}
	return cli.ExitFailed
}

// haltProcess ends the process at once: this host must neither serve nor apply anything any more.
func haltProcess(err error) {
	fmt.Fprintf(os.Stderr, "signalbox: this host cannot go on and stops: %v\n", err)
	os.Exit(cli.ExitData)
}

// config is what the core of the host is made of.
func (r *running) config() server.Config {
	s := r.settings
	c := server.Config{
		ID: r.identity.HostID, Name: r.identity.HostName, Cluster: r.identity.Cluster,
		ClientAddress: s.ClientAdvertise, RaftAddress: s.RaftAdvertise, AdminAddress: s.AdminAdvertise(),
		Version: programVersion(), Hosts: r.identity.HostIDs(), Shards: r.identity.Shards,
		Logs: func(id uint64, sm shard.StateMachine) (shard.Log, error) { return r.raft.Start(id, sm) },
		Limits: protocol.Limits{
			DataBytes: uint64(s.DataLimit), RequestsInFlight: uint64(s.RequestsInFlight), Watches: uint64(s.Watches),
		},
		PendingBytes: uint64(s.PendingLimit), PartialBytes: uint64(s.PartialLimit), WatchBytes: uint64(s.WatchMemory),
		PingInterval: s.PingInterval, Guard: r.disk.Guard,
		Halt:     haltProcess,
		LogSyncs: r.logSyncs, LogSnapshots: r.logSnapshots, Log: r.log,
	}
	if r.tokens != nil {
		c.Access = r.tokens
	}
	return c
}
