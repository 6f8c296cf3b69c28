package host

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/access"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/bootstrap"
	"github.com/signalbox/signalbox/server/diskguard"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/join"
	"github.com/signalbox/signalbox/server/memguard"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/raftlog"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Options configures Start.
type Options struct {
	// Settings are the same as for signalbox serve: settings.Defaults with changes, or the result of settings.Load.
	// Start completes and checks them. LogLevel and LogFormat are for the code that creates the logger, and have no
	// effect here.
	Settings settings.Settings
	// Version is the program version the host reports to remote hosts and clients: printable ASCII without spaces, at
	// most 64 bytes. Empty means "devel".
	Version string
	// Log receives log records. Its handler must not block: see LogWriter. nil disables logging.
	Log *slog.Logger
	// LogLinesDropped returns the number of lost log lines, for metrics. May be nil.
	LogLinesDropped func() uint64
	// Halt is called if the host cannot continue, before Done is closed. Halt may end the process. If Halt returns or
	// is nil, the host closes its connections and stops serving. Halt must be safe for concurrent use, and may be
	// called more than once.
	Halt func(error)
	// AdjustLog changes the Raft log's configuration, for tests that need values outside the settings' range. May be
	// nil.
	AdjustLog func(*raftlog.Config)
}

// Host is a running host. Start fills the fields from top to bottom, and Close takes the components down from bottom
// to top. Methods are safe for concurrent use.
type Host struct {
	options  Options
	settings settings.Settings
	log      *slog.Logger
	began    time.Time

	directory     *identity.Directory
	tokens        *access.File                 // nil: no tokens
	rules         *meta.AccessImport           // nil: no access rules to import
	access        string                       // the source of client admission, for the bootstrap plan
	joinToken     *join.Token                  // nil: no join token
	certificates  *transport.CertificateSource // nil: clients do not use TLS
	admin         *admin.Server                // nil: no admin listener
	stats         transport.Stats
	listeners     []transport.Listener
	addresses     Addresses
	raftListener  net.Listener // nil: no listener for remote hosts
	disk          *diskguard.Guard
	memory        *memguard.Guard
	start         hosts.Start
	seen          *identity.Peers                         // remote hosts' progress and starts
	known         atomic.Pointer[[]identity.Known]        // the cluster's hosts, empty before the bootstrap
	book          addressBook                             // the source for known
	learning      learning                                // looks up hosts missing from book
	bootstrapping atomic.Pointer[bootstrap.Runner]        // nil: no bootstrap with remote hosts
	joining       atomic.Pointer[join.Runner]             // nil: the host does not join a cluster
	joinServer    atomic.Pointer[join.Server]             // nil: remote hosts cannot join through the local host yet
	peers         atomic.Pointer[rafttransport.Transport] // nil: no connections to remote hosts
	identity      identity.Identity
	logSyncs      *metrics.Histogram
	logGrew       chan struct{} // has a token if the log has grown since its end was last recorded
	logSnapshots  *server.SnapshotTransfers
	doors         atomic.Pointer[func(io.Writer)] // write the metrics of additional gateways; nil: no gateways
	raftSecret    []byte                          // nil: no secret
	oneSecret     atomic.Pointer[string]          // differInSecret's text; nil: no host differs
	raftRefused   [rafttransport.Refusals]atomic.Uint64
	raft          *raftlog.Host
	// core is set last. The admin pages are served before and after, and read the other fields only if core is set.
	core atomic.Pointer[server.Host]
	// shards is the number of data shards among which the memory is divided, 0 before the records are known.
	shards atomic.Int32

	ctx      context.Context // ends when the host is closed
	cancel   context.CancelFunc
	arriving sync.WaitGroup // goroutines that complete Start
	stopping atomic.Bool
	closed   sync.Once

	halted  sync.Once
	halting sync.WaitGroup // goroutines that complete halt
	failure error          // set before done is closed
	done    chan struct{}  // closed when the host cannot continue
}

// Start starts a host. Start returns when the host participates in its cluster, which may be before the host is
// ready. If the host bootstraps with remote hosts, Start returns when the host begins to look for the hosts in its
// list. On failure, Start returns an *Error and leaves nothing behind except a directory, which the next Start
// accepts.
func Start(o Options) (_ *Host, err error) {
	h := &Host{
		options: o, log: o.Log, began: time.Now(), done: make(chan struct{}), logGrew: make(chan struct{}, 1),
		logSyncs: server.NewSyncTimes(), logSnapshots: new(server.SnapshotTransfers),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.options.Version = cmp.Or(o.Version, "devel")
	if h.settings, err = o.Settings.Complete(); err != nil {
		return nil, &Error{KindSettings, err}
	}
	for _, warning := range h.settings.Warnings() {
		h.log.Warn(warning)
	}
	defer func() {
		if err != nil {
			h.closed.Do(h.close)
		}
	}()
	if err := h.claim(); err != nil {
		return nil, err
	}
	if err := h.identify(); err != nil {
		return nil, &Error{KindData, err}
	}
	if err := h.openPeers(); err != nil {
		return nil, err
	}
	if h.identity.Bootstrapped() {
		if err := h.arrive(); err != nil {
			return nil, err
		}
		return h, nil
	}
	h.arriving.Go(func() {
		err := h.belong()
		if err == nil {
			err = h.arrive()
		}
		if err != nil && h.ctx.Err() == nil {
			h.halt(err)
		}
	})
	return h, nil
}

// arrive makes the host participate in its cluster.
func (h *Host) arrive() error {
	if err := h.askPeers(); err != nil {
		return err
	}
	if err := h.openLog(); err != nil {
		return err
	}
	if warning := h.settings.WarnMemory(h.identity.Shards); warning != "" {
		h.log.Warn(warning)
	}
	core, err := server.Open(h.coreConfig())
	if err != nil {
		return &Error{KindOther, err}
	}
	h.core.Store(core)
	h.openJoinServer(core)
	return nil
}

// Opened implements transport.Handler. The listeners are opened before the server, so that an address in use is
// detected before anything is written. Connections are refused until the server is open. A program may pass
// connections from its own transport, such as transport.NewInside, and must close them itself.
func (h *Host) Opened(c transport.Conn) transport.Events {
	core := h.core.Load()
	if core == nil || h.Err() != nil {
		return nil
	}
	return core.Opened(c)
}

// NoteAct records in the cluster's audit log what a caller did through a gateway on the host, and why.
func (h *Host) NoteAct(ctx context.Context, a audit.Note) error {
	core := h.core.Load()
	if core == nil {
		return errors.New("host: not started")
	}
	return core.NoteAct(ctx, a)
}

// ReportLoad records the host's recent load, for clients that ask. No client can ask before the host has started, so
// an earlier report is discarded. If an embedding program never calls ReportLoad, the host answers its load is
// unknown.
func (h *Host) ReportLoad(l server.Load) {
	if core := h.core.Load(); core != nil {
		core.ReportLoad(l)
	}
}

// reserveName is the file in the data directory that reserves disk space.
const reserveName = "reserve"

func (h *Host) openLog() (err error) {
	s := &h.settings
	// Both timeouts must be longer than an election, whose duration grows with the tick.
	timeout := max(raftlog.DefaultProposalTimeout,
		4*time.Duration(raftlog.ElectionTicks(s.RaftHeartbeatInterval))*s.RaftHeartbeatInterval)
	config := raftlog.Config{
		Host: h.identity.HostID, Incarnation: h.identity.Incarnation, DataDir: h.directory.LogPath(),
		InitialMembers: initialMembers(&h.identity), InitialShards: uint64(h.identity.Shards),
		Deployment: h.identity.Deployment(), Transport: h.peers.Load(),
		Used: h.identity.Started, Damaged: h.logDamaged, Relieve: h.disk.Relieve,
		LogEnd: h.directory.LogEnd(), Confirmed: h.confirmed(),
		Tick: s.RaftHeartbeatInterval, ProposalTimeout: timeout, BarrierTimeout: timeout,
		SnapshotBytes: int64(s.RaftSnapshotBytes), Room: h.disk.Room, Full: h.disk.Guard,
		Memory: h.memory.Guard, Fits: h.memory.Fits, ShardBytes: s.ShardQuota(h.identity.Shards),
		RecentBytes: s.Memory().RecentBytes(), QueuedBytes: s.Memory().QueuedBytes(),
		Synced: h.logSynced, Transfers: h.logSnapshots, Metrics: s.RaftMetrics, Logger: newEngineLog(h.log),
	}
	if h.options.AdjustLog != nil {
		h.options.AdjustLog(&config)
	}
	if h.raft, err = raftlog.Open(config); err != nil {
		return &Error{logKind(err), err}
	}
	h.disk.Watch(h.raft)
	if err := h.directory.Started(); err != nil {
		return &Error{KindOther, err}
	}
	h.arriving.Go(h.keepAnchored)
	return nil
}

// coreConfig returns the server's configuration.
func (h *Host) coreConfig() server.Config {
	s := &h.settings
	domain, _ := host.ParseDomain(s.FailureDomain) // the settings were checked
	c := server.Config{
		ID: h.identity.HostID, Name: h.identity.HostName, Cluster: h.identity.Cluster,
		ClientAddress: h.addresses.ClientAdvertise, RaftAddress: cmp.Or(s.RaftAdvertise, settings.Off),
		AdminAddress: h.addresses.AdminAdvertise, Version: h.options.Version,
		Incarnation: h.identity.Incarnation, Start: h.start, InitialMembers: initialMembers(&h.identity),
		Domain: domain,
		Hosts:  membersOf(*h.known.Load()), Shards: h.identity.Shards,
		Logs:     func(id uint64, sm shard.StateMachine) (shard.Log, error) { return h.raft.Start(id, sm) },
		Replicas: raftReplicas{h.raft}, Calls: h.calls(), Rejoin: h.rejoin, HostsChanged: h.hostsChanged,
		Leads: h.announceLed,
		Limits: protocol.Limits{
			DataBytes: uint64(s.MaxDataSize), RequestsInFlight: uint64(s.MaxRequestsInFlight),
			Watches: uint64(s.MaxWatches),
		},
		PendingBytes: uint64(s.MaxOutputBuffer), PartialBytes: uint64(s.MaxInputBuffer),
		WatchBytes:   uint64(s.MaxWatchMemory),
		QueuedBytes:  s.Memory().CommandBytes(h.identity.Shards),
		ShardObjects: uint64(s.ShardQuotaObjects), ShardBytes: s.ShardQuota(h.identity.Shards),
		ShardShare: s.ShardShare(), PingInterval: s.PingInterval, Guard: h.disk.Guard, Memory: h.memory.Guard,
		Fits: h.memory.FitsState,
		Own:  h.own, Authority: h.authority,
		Halt: h.halt, NotesNodes: true,
		LogSyncs: h.logSyncs, LogSnapshots: h.logSnapshots, Log: h.log, AccessRules: h.rules,
		Closed: h.identity.Closed,
	}
	if h.tokens != nil {
		c.Access = h.tokens
	}
	return c
}

// Identity returns the data directory's identity: the cluster id, the number of shards, and the host's own id. A host
// that bootstraps with remote hosts has no cluster and no id before the bootstrap.
func (h *Host) Identity() identity.Identity {
	if h.directory == nil {
		return identity.Identity{}
	}
	return h.directory.Identity()
}

// Addresses are the addresses of the host's listeners, and the advertised addresses. The address of a disabled
// listener is empty.
type Addresses struct {
	// Client is for clients without TLS, TLS for clients with TLS.
	Client, TLS string
	// Raft is for remote hosts. A single host does not listen for remote hosts.
	Raft string
	// Admin is for health, metrics and status over HTTP.
	Admin string
	// ClientAdvertise and AdminAdvertise are the addresses given to clients and remote hosts.
	ClientAdvertise, AdminAdvertise string
}

// Addresses returns the addresses of the host, with the actual ports.
func (h *Host) Addresses() Addresses { return h.addresses }

// Ready returns why the host does not serve, nil if it serves.
func (h *Host) Ready() error {
	if reason := admin.NotReady(h.Checks()); reason != "" {
		return errors.New(reason)
	}
	return nil
}

// readyPoll is the poll interval for WaitReady.
const readyPoll = 5 * time.Millisecond

// WaitReady waits until the host serves. If the context ends first, WaitReady returns what the host lacks, with the
// context's error. If the host cannot continue, WaitReady returns the reason immediately.
func (h *Host) WaitReady(ctx context.Context) error {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		lacks := h.Ready()
		if lacks == nil {
			return nil
		}
		select {
		case <-poll.C:
		case <-h.done:
			return h.failure
		case <-ctx.Done():
			return errors.Join(lacks, ctx.Err())
		}
	}
}

// Open reports whether anonymous clients may do everything: see server.Host.
func (h *Host) Open() bool {
	core := h.core.Load()
	return core != nil && core.Open()
}

// Done returns a channel that is closed when the host cannot continue. Err then returns the reason.
func (h *Host) Done() <-chan struct{} { return h.done }

// Err returns the reason why the host cannot continue, nil while it can.
func (h *Host) Err() error {
	select {
	case <-h.done:
		return h.failure
	default:
		return nil
	}
}

// halt is called if the host must stop serving and applying immediately, possibly with server locks held.
func (h *Host) halt(err error) {
	if h.options.Halt != nil {
		h.options.Halt(err)
	}
	h.halted.Do(func() {
		h.failure = err
		close(h.done)
		h.halting.Go(h.closeListeners) // in a goroutine, because closing waits for server calls
	})
}
