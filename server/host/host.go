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
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/raftlog"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Options are the input of Start.
type Options struct {
	// Settings are the settings of signalbox serve: settings.Defaults with changes, or the result of settings.Load.
	// Start completes and checks the settings. LogLevel and LogFormat are for the maker of the logger, and change
	// nothing here.
	Settings settings.Settings
	// Version is the version of the program. The host reports the version to other hosts and clients: printable ASCII
	// without spaces, up to 64 bytes. Empty stands for "devel".
	Version string
	// Log receives the log. Its handler must not block: see LogWriter. Nil means no log.
	Log *slog.Logger
	// LogLinesDropped counts the lines of the log that were lost, for the metrics. May be nil.
	LogLinesDropped func() uint64
	// Halt is called when the host cannot go on, before Done is closed. Halt may end the process; after a return, or
	// if Halt is nil, the host closes its connections and serves no more. All goroutines may call Halt, more than
	// once.
	Halt func(error)
	// AdjustLog changes the configuration of the Raft log, for tests beyond the range of the settings. May be nil.
	AdjustLog func(*raftlog.Config)
}

// Host is a running host. Start fills the fields from top to bottom, and Close takes the parts down from bottom to
// top. Many goroutines at once may call the methods.
type Host struct {
	options  Options
	settings settings.Settings
	log      *slog.Logger
	began    time.Time

	directory     *identity.Directory
	tokens        *access.File                 // nil: no tokens
	rules         *meta.AccessImport           // nil: no access rules to import
	access        string                       // of the plan for a bootstrap
	joinToken     *join.Token                  // nil: no join token
	certificates  *transport.CertificateSource // nil: clients do not use TLS
	admin         *admin.Server                // nil: no admin listener
	stats         transport.Stats
	listeners     []transport.Listener
	addresses     Addresses
	raftListener  net.Listener // nil: the host does not listen for other hosts
	disk          *diskguard.Guard
	memory        *memguard.Guard
	start         hosts.Start
	seen          *identity.Peers                         // progress and starts of other hosts
	known         atomic.Pointer[[]identity.Known]        // the hosts of the cluster, empty before its bootstrap
	book          addressBook                             // the source of known
	learning      learning                                // about hosts missing in book
	bootstrapping atomic.Pointer[bootstrap.Runner]        // nil: the host is not to bootstrap with other hosts
	joining       atomic.Pointer[join.Runner]             // nil: the host is not to join other hosts
	joinServer    atomic.Pointer[join.Server]             // nil: the host cannot let other hosts join yet
	peers         atomic.Pointer[rafttransport.Transport] // nil: the host reaches no other hosts
	identity      identity.Identity
	logSyncs      *metrics.Histogram
	syncTime      pipeline.Shortest
	logGrew       chan struct{} // has a token if the log has grown since the last note of its end
	logSnapshots  *server.SnapshotTransfers
	doors         atomic.Pointer[func(io.Writer)] // write the metrics of doors beside the host; nil: no doors
	raftSecret    []byte                          // nil: no secret
	oneSecret     atomic.Pointer[string]          // differInSecret's text; nil: no host differs
	raftRefused   [rafttransport.Refusals]atomic.Uint64
	raft          *raftlog.Host
	// core is set last. The admin pages are served before and after, and read the other fields only if core is set.
	core atomic.Pointer[server.Host]

	ctx      context.Context // ends when the host is closed
	cancel   context.CancelFunc
	arriving sync.WaitGroup // the rest of Start, in goroutines
	stopping atomic.Bool
	closed   sync.Once

	halted  sync.Once
	halting sync.WaitGroup // the rest of halt, in goroutines
	failure error          // set before done is closed
	done    chan struct{}  // closed when the host cannot go on
}

// Start brings a host up. Start returns when the host takes part in its cluster, which may be before the host is
// ready, or when the host starts looking for the hosts of its list, to bootstrap with them. After a failure, Start
// returns an *Error and leaves nothing behind except a directory, which the next Start accepts.
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

// arrive makes the host take part in its cluster.
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

// Opened implements transport.Handler. The listeners are opened before the server, so an address in use is found
// before anything is written. Until the server is open, connections are refused. A program may give the host
// connections of a transport of its own, such as transport.NewInside, and closes them itself.
func (h *Host) Opened(c transport.Conn) transport.Events {
	core := h.core.Load()
	if core == nil || h.Err() != nil {
		return nil
	}
	return core.Opened(c)
}

// NoteAct writes into the history of the cluster that a caller did something through a door of this host, and why.
func (h *Host) NoteAct(ctx context.Context, a audit.Note) error {
	core := h.core.Load()
	if core == nil {
		return errors.New("host: it is not started")
	}
	return core.NoteAct(ctx, a)
}

// ReportLoad records what the host did lately, for clients that ask. No client can ask before the host has started,
// so an earlier report is lost. The host of an embedding program that never calls ReportLoad answers that its load is
// unknown.
func (h *Host) ReportLoad(l server.Load) {
	if core := h.core.Load(); core != nil {
		core.ReportLoad(l)
	}
}

// reserveName is the file in the data directory that holds room on its disk.
const reserveName = "reserve"

func (h *Host) openLog() (err error) {
	s := &h.settings
	// Both timeouts must outlast an election, and a long tick makes an election long.
	timeout := max(raftlog.DefaultProposalTimeout,
		4*time.Duration(raftlog.ElectionTicks(s.RaftHeartbeatInterval))*s.RaftHeartbeatInterval)
	config := raftlog.Config{
		Host: h.identity.HostID, Incarnation: h.identity.Incarnation, DataDir: h.directory.LogPath(),
		InitialMembers: initialMembers(&h.identity), Deployment: h.identity.Deployment(), Transport: h.peers.Load(),
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

// coreConfig is the configuration of the server.
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
		PingInterval: s.PingInterval, Guard: h.disk.Guard, Memory: h.memory.Guard, Fits: h.memory.FitsState,
		Own: h.own, Authority: h.authority,
		Halt: h.halt, NotesNodes: true,
		LogSyncs: h.logSyncs, SyncTime: h.syncTime.Get, LogSnapshots: h.logSnapshots, Log: h.log, AccessRules: h.rules,
		Closed: h.identity.Closed,
	}
	if h.tokens != nil {
		c.Access = h.tokens
	}
	return c
}

// Identity is the identity of the data directory: the id of the cluster, the number of its shards, and the host's own
// id. A host that is to bootstrap with other hosts has no cluster and no id before the bootstrap.
func (h *Host) Identity() identity.Identity {
	if h.directory == nil {
		return identity.Identity{}
	}
	return h.directory.Identity()
}

// Addresses are the addresses of the host's listeners, and the advertised addresses. An unwanted address is empty.
type Addresses struct {
	// Client is for clients without TLS, TLS for clients with TLS.
	Client, TLS string
	// Raft is for other hosts. A host alone does not listen for hosts.
	Raft string
	// Admin is for health, metrics and status over HTTP.
	Admin string
	// ClientAdvertise and AdminAdvertise are the addresses given to clients and other hosts.
	ClientAdvertise, AdminAdvertise string
}

// Addresses returns the addresses of the host, with the actual ports.
func (h *Host) Addresses() Addresses { return h.addresses }

// Ready returns why the host does not serve, and nil if the host serves.
func (h *Host) Ready() error {
	if reason := admin.NotReady(h.Checks()); reason != "" {
		return errors.New(reason)
	}
	return nil
}

// readyPoll is how often WaitReady asks.
const readyPoll = 5 * time.Millisecond

// WaitReady waits until the host serves. At the end of the context WaitReady returns what the host lacks, with the
// error of the context. WaitReady returns at once, with the reason, if the host cannot go on.
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

// Done is closed when the host cannot go on. Err then says why.
func (h *Host) Done() <-chan struct{} { return h.done }

// Err is why the host cannot go on, nil while the host can.
func (h *Host) Err() error {
	select {
	case <-h.done:
		return h.failure
	default:
		return nil
	}
}

// halt is called when the host must neither serve nor apply anything from now on, possibly with locks of the server
// held.
func (h *Host) halt(err error) {
	if h.options.Halt != nil {
		h.options.Halt(err)
	}
	h.halted.Do(func() {
		h.failure = err
		close(h.done)
		h.halting.Go(h.closeListeners) // not here: closing waits for calls of the server
	})
}
