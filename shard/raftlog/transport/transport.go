package transport

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Limits of the connections between hosts.
const (
	// dialTimeout is short: a lost first packet of a connection is sent again after one second, and then after pauses
	// that double.
	dialTimeout      = time.Second
	handshakeTimeout = 5 * time.Second
	keepAlivePeriod  = 10 * time.Second
	// lossTimeout is after how long without acknowledgements a connection ends: longer than an election, which replaces
	// a silent host anyway.
	lossTimeout = time.Second
	// redialEvery is how often a host that does not answer is dialled, and redialFor for how long messages wait for an
	// answer.
	redialEvery = 50 * time.Millisecond
	// searchEvery is how often the host is dialled afterwards.
	searchEvery = 200 * time.Millisecond
	redialFor   = 3 * time.Second
	// acceptPause is how long accepting waits after an error, for instance without a free file descriptor.
	acceptPause = 50 * time.Millisecond

	// maxGreeting bounds the accepted connections in a handshake.
	maxGreeting = 64
	// maxUnnamed bounds the accepted connections of hosts without an id.
	maxUnnamed = 16
	// maxOfHost bounds the accepted connections of one host: the engine sends up to 64 snapshots at once, and there is
	// room for calls, and for leftovers of a restart.
	maxOfHost = 96
)

// Config has the settings of a transport and the functions of its host.
type Config struct {
	Identity Identity
	// Secret is shared by all hosts; frames have a MAC if there is a secret.
	Secret []byte
	// Hosts is the first address book, until SetHosts. This host may be in the book or not.
	Hosts []Host
	// Listener accepts the connections of hosts, and is closed by the transport. With nil no host can connect.
	Listener net.Listener
	// Dial opens a connection to an address; nil: over TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	TLS  *Certificates // nil: plain TCP
	// Admit, if set, returns why a named host is no peer of this host; a *Refused chooses the code of the refusal.
	// Admit is called in the handshake of every connection, at both ends, after the peer has proved the secret, and may
	// wait for the disk. With nil the hosts of the address book are peers.
	Admit func(Peer) error
	// Answer answers the calls of hosts, also of unnamed hosts, and is called by many goroutines at once. The context
	// ends with the caller's deadline. With nil, calls are refused.
	Answer func(ctx context.Context, peer Peer, request []byte) (answer []byte, err error)
	// TurnedAway is called, if set, after a refusal by a host that has proved the secret. The function must not block.
	TurnedAway func(*Refused)
	// OneSecret is called, if set, with a dialled host if only one of the two hosts has a secret. The function must not
	// block.
	OneSecret func(Host)
	// Kept is called, if set, with a host to which this host keeps a new connection for calls. The function must not
	// block.
	Kept func(shard.HostID)
	// Refused is called, if set, for everything that is kept from the engine. The function must not block.
	Refused func(Refusal)
	Logger  *slog.Logger
}

// Transport is this host's end of all connections between hosts. Any goroutine may call the methods.
type Transport struct {
	config   Config
	refusals *refusals

	ctx     context.Context // ends when Close begins
	cancel  context.CancelFunc
	running sync.WaitGroup // of the listener and of the accepted connections

	mu       sync.Mutex
	self     Identity               // guarded by mu, as are the fields below
	secret   []byte                 // replaced, never written to
	changes  uint64                 // counts changes of self and secret
	book     map[shard.HostID]Host  // replaced, never written to
	accepted map[net.Conn]*accepted // connections from hosts
	dialled  map[net.Conn]Host      // connections to hosts, with the entry of the book at the dial
	kept     map[shard.HostID]*kept // kept connections for calls to hosts; nil: a call is making the connection
	engine   *engineEnd             // nil before the engine's start and after the engine's close
	closed   bool
}

// Open accepts connections from now on, and answers calls. The engine's frames pass after the engine has started
// (Factory).
func Open(c Config) *Transport {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Dial == nil {
		c.Dial = dialTCP
	}
	t := &Transport{
		config: c, self: c.Identity, secret: c.Secret,
		accepted: make(map[net.Conn]*accepted), dialled: make(map[net.Conn]Host),
		kept: make(map[shard.HostID]*kept),
	}
	t.refusals = &refusals{config: &t.config}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.SetHosts(c.Hosts)
	if c.Listener != nil {
		t.running.Go(t.accept)
	}
	return t
}

// Close ends all connections and calls. The engine must be closed before.
func (t *Transport) Close() error {
	t.cancel()
	var err error
	if t.config.Listener != nil {
		err = t.config.Listener.Close()
	}
	t.mu.Lock()
	t.closed = true
	for conn := range t.accepted {
		conn.Close()
	}
	for conn := range t.dialled {
		conn.Close()
	}
	t.mu.Unlock()
	t.running.Wait()
	return err
}

// Identity returns the identity of this host.
func (t *Transport) Identity() Identity {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.self
}

// Identify sets the identity of a host that has got an id. An engine must not be there yet.
func (t *Transport) Identify(self Identity) { t.change("identity", func() { t.self = self }) }

// SetSecret sets the secret of the cluster at a host that has joined. An engine must not be there yet.
func (t *Transport) SetSecret(secret []byte) { t.change("secret", func() { t.secret = secret }) }

// change changes what a host proves to other hosts, before its engine runs.
func (t *Transport) change(what string, set func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.engine != nil {
		panic("transport: a host is given another " + what + " while its engine runs")
	}
	set()
	t.changes++
}

// credentials returns the identity of this host, and the secret that proves the identity.
func (t *Transport) credentials() (Identity, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.self, t.secret
}

// SetHosts replaces the address book. Connections to a host with another address end, and the engine makes its
// connections anew. Connections to and from a host that has left the book, or has another incarnation there, end too.
func (t *Transport) SetHosts(hosts []Host) {
	book := make(map[shard.HostID]Host, len(hosts))
	for _, h := range hosts {
		book[h.ID] = h
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.book = book
	for conn, by := range t.dialled {
		if now := book[by.ID]; by.ID != 0 && (now.Address != by.Address || now.Incarnation != by.Incarnation) {
			conn.Close()
		}
	}
	for conn, a := range t.accepted {
		if a.peer.Named() && book[a.peer.Host].Incarnation != a.peer.Incarnation {
			conn.Close()
		}
	}
}

// Hosts returns the address book, in no order.
func (t *Transport) Hosts() []Host {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.book))
}

// lookUp returns an entry of the address book.
func (t *Transport) lookUp(id shard.HostID) (Host, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, known := t.book[id]
	return h, known
}

// CertificateExpires returns when the certificate of this host expires, the zero time without TLS.
func (t *Transport) CertificateExpires() time.Time {
	if t.config.TLS == nil {
		return time.Time{}
	}
	return t.config.TLS.Expires()
}
