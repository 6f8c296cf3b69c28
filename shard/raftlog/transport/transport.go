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

// Limits for connections between hosts.
const (
	// dialTimeout is short: if a connection's first packet is lost, TCP resends it after one second, and then after
	// pauses that double.
	dialTimeout      = time.Second
	handshakeTimeout = 5 * time.Second
	keepAlivePeriod  = 10 * time.Second
	// lossTimeout is the time without acknowledgements after which a connection ends: longer than an election, which
	// replaces a silent host anyway.
	lossTimeout = time.Second
	// redialEvery is the interval between dials to a host that does not answer, and redialFor how long messages wait
	// for an answer.
	redialEvery = 50 * time.Millisecond
	// searchEvery is the dial interval after redialFor.
	searchEvery = 200 * time.Millisecond
	redialFor   = 3 * time.Second
	// acceptPause is the pause before accepting again after an error, for example if no file descriptor is free.
	acceptPause = 50 * time.Millisecond

	// maxGreeting bounds the accepted connections in a handshake.
	maxGreeting = 64
	// maxUnnamed bounds the accepted connections from hosts without an id.
	maxUnnamed = 16
	// maxOfHost bounds the accepted connections from one host: the engine sends up to 64 snapshots at once; the rest is
	// for calls, and for connections left over by a restart.
	maxOfHost = 96
)

// Config has a transport's settings and its host's callbacks.
type Config struct {
	Identity Identity
	// Secret is shared by all hosts; if set, frames have a MAC.
	Secret []byte
	// Hosts is the initial address book, until SetHosts. This host may be in the book or not.
	Hosts []Host
	// Listener accepts connections from hosts, and is closed by the transport. If nil, no host can connect.
	Listener net.Listener
	// Dial opens a connection to an address. If nil, TCP is used.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	TLS  *Certificates // nil means plain TCP
	// Admit, if set, returns why a named host is not accepted as a peer; a *Refused chooses the refusal code. Admit is
	// called in the handshake on every connection, at both ends, after the peer has proved the secret, and may wait for
	// the disk. If a host is not in the address book, such as an expelled host, Admit has to check the name in the
	// certificate with Peer.CertifiedAs. If nil, the hosts in the address book are peers.
	Admit func(Peer) error
	// Answer answers calls from hosts, including unnamed hosts, and must be safe for concurrent use. The context ends
	// with the caller's deadline. If nil, calls are refused.
	Answer func(ctx context.Context, peer Peer, request []byte) (answer []byte, err error)
	// TurnedAway is called, if set, after a refusal by a host that has proved the secret. The function must not block.
	TurnedAway func(*Refused)
	// OneSecret is called, if set, with a dialled host if only one of the two hosts has a secret. The function must not
	// block.
	OneSecret func(Host)
	// Kept is called, if set, with a host when a new persistent connection to it is created. The function must not
	// block.
	Kept func(shard.HostID)
	// Refused is called, if set, for everything withheld from the engine. The function must not block.
	Refused func(Refusal)
	Logger  *slog.Logger
}

// Transport is this host's end of all connections between hosts. Its methods are safe for concurrent use.
type Transport struct {
	config   Config
	refusals *refusals

	ctx     context.Context // ends when Close begins
	cancel  context.CancelFunc
	running sync.WaitGroup // the listener and the accepted connections

	mu       sync.Mutex
	self     Identity               // guarded by mu, as are the fields below
	secret   []byte                 // replaced, never modified
	changes  uint64                 // counts changes of self and secret
	book     map[shard.HostID]Host  // replaced, never modified
	accepted map[net.Conn]*accepted // inbound connections
	dialled  map[net.Conn]Host      // outbound connections, with the book entry used for the dial
	kept     map[shard.HostID]*kept // persistent connections for calls; nil while a call is creating the connection
	engine   *engineEnd             // nil before the engine starts and after it closes
	closed   bool
}

// Open accepts connections from now on, and answers calls. Engine frames pass once the engine has started (Factory).
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

// Close ends all connections and calls. The engine must be closed first.
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

// Identity returns this host's identity.
func (t *Transport) Identity() Identity {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.self
}

// Identify sets the identity once the host has got an id. There must be no engine yet.
func (t *Transport) Identify(self Identity) { t.change("identity", func() { t.self = self }) }

// SetSecret sets the cluster secret on a host that has joined. There must be no engine yet.
func (t *Transport) SetSecret(secret []byte) { t.change("secret", func() { t.secret = secret }) }

// change changes what this host proves to other hosts, before its engine runs.
func (t *Transport) change(what string, set func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.engine != nil {
		panic("transport: a host is given another " + what + " while its engine runs")
	}
	set()
	t.changes++
}

// credentials returns this host's identity, and the secret that proves it.
func (t *Transport) credentials() (Identity, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.self, t.secret
}

// SetHosts replaces the address book. If a host's address has changed, connections to it end, and the engine
// reconnects. If a host has left the book, or has a different incarnation there, connections to and from it end.
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

// Hosts returns the address book, in no particular order.
func (t *Transport) Hosts() []Host {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.book))
}

// lookUp returns an address book entry.
func (t *Transport) lookUp(id shard.HostID) (Host, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, known := t.book[id]
	return h, known
}

// CertificateExpires returns when this host's certificate expires, the zero time without TLS.
func (t *Transport) CertificateExpires() time.Time {
	if t.config.TLS == nil {
		return time.Time{}
	}
	return t.config.TLS.Expires()
}
