package transport

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Limits of the connections between hosts.
const (
	// dialTimeout is short: the first packet of a connection that is lost is sent again after one second, and after
	// pauses that double from then on.
	dialTimeout      = time.Second
	handshakeTimeout = 5 * time.Second
	keepAlivePeriod  = 10 * time.Second
	// lossTimeout is after how long a connection ends whose other end acknowledges nothing: longer than an election,
	// within which a host that is not heard is replaced anyway.
	lossTimeout = time.Second
	// redialEvery is how often a host that does not answer is dialled, and redialFor for how long what is to be sent
	// waits for that.
	redialEvery = 50 * time.Millisecond
	// searchEvery is how often it is dialled after that.
	searchEvery = 200 * time.Millisecond
	redialFor   = 3 * time.Second
	// acceptPause is how long accepting waits after an error, as when the process has no file descriptor left.
	acceptPause = 50 * time.Millisecond

	// maxGreeting bounds the accepted connections that have not said who they are.
	maxGreeting = 64
	// maxUnnamed bounds those of hosts without an id.
	maxUnnamed = 16
	// maxOfHost bounds those of one host: 64 snapshots at once is as many as the engine sends, and there is room for
	// calls, and for what a restart leaves behind.
	maxOfHost = 96
)

// Config is what a transport needs of its host.
type Config struct {
	Identity Identity
	// Secret is shared by all hosts; frames have a MAC where it is set.
	Secret []byte
	// Hosts is the address book to begin with. SetHosts replaces it. Whether this host is in it does not matter.
	Hosts []Host
	// Listener is where other hosts connect; nil: none can. The transport closes it.
	Listener net.Listener
	// Dial opens a connection to an address; nil: over TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	TLS  *Certificates // nil: plain TCP
	// Admit, if set, returns why a named host is no peer of this one; a *Refused chooses the code that it is refused
	// with. It is called in the handshake of each connection, at both ends, once the peer has proved that it has the
	// secret, and may wait for the disk. Where it is nil, the hosts of the address book are peers.
	Admit func(Peer) error
	// Answer answers the calls of other hosts, also of unnamed ones. The context ends with the caller's. It is called
	// by many goroutines at once. Where it is nil, calls are refused.
	Answer func(ctx context.Context, peer Peer, request []byte) (answer []byte, err error)
	// TurnedAway is called, if set, when another host that has proved who it is refuses this one. It must not block.
	TurnedAway func(*Refused)
	// OneSecret is called, if set, when this host has dialled another one and only one of the two has a secret. It must
	// not block.
	OneSecret func(Host)
	// Refused is called, if set, for everything that is kept from the engine. It must not block.
	Refused func(Refusal)
	Logger  *slog.Logger
}

// Transport is this host's end of all connections between hosts. Its methods may be called from any goroutine.
type Transport struct {
	config   Config
	refusals *refusals

	ctx     context.Context // ends when Close begins
	cancel  context.CancelFunc
	running sync.WaitGroup // of the listener and of the accepted connections

	mu       sync.Mutex
	self     Identity               // guarded by mu, as are those below
	secret   []byte                 // replaced, never written to
	book     map[shard.HostID]Host  // replaced, never written to
	accepted map[net.Conn]*accepted // those of other hosts
	dialled  map[net.Conn]Host      // those to other hosts, with the entry that they were dialled by
	kept     map[shard.HostID]*kept // connections for calls to other hosts; nil: a call is about to make one
	engine   *engineEnd             // nil: none is there yet, or it is closed
	closed   bool
}

// Open accepts connections from now on, and answers calls. The engine's frames pass once an engine has made its end
// (Factory).
func Open(c Config) *Transport {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
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

// Identity returns who this host is to others.
func (t *Transport) Identity() Identity {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.self
}

// Identify gives a host without an id the one that it has got. It must be called before an engine is there.
func (t *Transport) Identify(self Identity) {
	defer t.endKept()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.engine != nil {
		panic("transport: a host is given another identity while its engine runs")
	}
	t.self = self
}

// SetSecret gives a host that has joined the secret of its cluster. It must be called before an engine is there.
func (t *Transport) SetSecret(secret []byte) {
	defer t.endKept()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.engine != nil {
		panic("transport: a host is given another secret while its engine runs")
	}
	t.secret = secret
}

// credentials returns who this host is to others, and by what it proves it.
func (t *Transport) credentials() (Identity, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.self, t.secret
}

// SetHosts replaces the address book. Connections to a host that is at another address now end, and the engine's are
// made anew; so do those to and from a host that is not in the book any more, or there with another incarnation.
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
	all := make([]Host, 0, len(t.book))
	for _, h := range t.book {
		all = append(all, h)
	}
	return all
}

// lookUp returns an entry of the address book.
func (t *Transport) lookUp(id shard.HostID) (Host, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, known := t.book[id]
	return h, known
}

// CertificateExpires returns when the certificate expires that this host shows to others, the zero time where hosts do
// not use TLS.
func (t *Transport) CertificateExpires() time.Time {
	if t.config.TLS == nil {
		return time.Time{}
	}
	return t.config.TLS.Expires()
}

// ValidateAddress returns an error that says what is wrong with an address, host:port, if something is.
func ValidateAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > math.MaxUint16 {
		return fmt.Errorf("address %q: want a port from 1 to %d", address, math.MaxUint16)
	}
	if host == "" {
		return fmt.Errorf("address %q: want a host name or an IP address before the port", address)
	}
	return nil
}
