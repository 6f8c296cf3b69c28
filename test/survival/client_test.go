//go:build linux

package survival_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// errEnded: the client's session is over. errLeft: the user has stopped the client.
var (
	errEnded   = errors.New("the session has ended")
	errStopped = errors.New("the client has left")
)

// avoidTime is the time for which a client avoids a host after a missing answer.
const avoidTime = 500 * time.Millisecond

// client is one session with its connections. Its own goroutine keeps the session attached; one user goroutine may
// change objects.
type client struct {
	hosts   []string // addresses
	record  *record
	path    string
	timeout time.Duration
	key     []byte
	id      uint64
	node    uint64
	number  uint64

	mu          sync.Mutex // guards what follows
	sequence    uint64
	connections map[string]*connection
	where       map[string]string    // host of each object, as last found
	avoided     map[string]time.Time // hosts without an answer, with the end of avoidance
	home        *connection          // the session's attached connection
	detached    *connection          // connection that reported a detach since the current attach was sent
	lease       time.Time            // until when the client may believe
	why         string               // why the session ended, empty while it may live
	stopped     chan struct{}
	confined    bool // uses only its own hosts, whatever redirects say
}

// start starts a session on any host.
func start(hosts []string, path string, timeout time.Duration, r *record) (*client, error) {
	c := &client{
		hosts: hosts, record: r, path: path, timeout: timeout, key: make([]byte, 16), sequence: 1,
		connections: make(map[string]*connection), where: make(map[string]string), avoided: make(map[string]time.Time),
		stopped: make(chan struct{}),
	}
	_, _ = rand.Read(c.key)
	var sent time.Time
	a, l, err := c.request("start", false, func() protocol.RequestMessage {
		sent = c.attaching()
		return &protocol.SessionStart{
			Path: []byte(path), TimeoutMillis: uint64(timeout.Milliseconds()), SessionSecret: c.key,
			AttachSequence: c.sequence,
		}
	})
	if err != nil {
		c.closeConnections()
		return nil, err
	}
	c.id, c.node = a.SessionStart.SessionID, a.SessionStart.Lease.NodeID
	l.setBound(true)
	c.where["home"] = l.address
	c.attached(l, sent)
	go c.keep()
	return c, nil
}

// attaching returns when an attach is sent.
func (c *client) attaching() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached = nil
	return time.Now()
}

// attached records a successful attach, unless the connection has since reported a detach.
func (c *client) attached(l *connection, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease = sent.Add(c.timeout * 9 / 10); c.detached != l {
		c.home = l
	}
}

// believesUntil is the time at which the client stops believing, as currently known.
func (c *client) believesUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease
}

func (c *client) ended() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

func (c *client) end(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == "" {
		c.why = why
	}
}

// onPush handles pushes that belong to no request.
func (c *client) onPush(l *connection, a *protocol.Answer) {
	switch a.Kind {
	case protocol.KindSessionEnded:
		c.end(fmt.Sprintf("told that it ended: %v", a.SessionEnded.Reason))
	case protocol.KindSessionDetached:
		c.record.count("SESSION_DETACHED " + a.SessionDetached.Result.Status.String())
		c.mu.Lock()
		if c.detached = l; c.home == l {
			c.home = nil
		}
		c.mu.Unlock()
	case protocol.KindGoingAway:
		c.record.count("GOING_AWAY " + a.GoingAway.Result.Status.String())
		if a.GoingAway.Result.Status.Retry() == protocol.RetryNever {
			c.record.wrong("GOING_AWAY: %v", a.GoingAway.Result.Err())
		}
		c.avoid(l.address)
		go l.closeWhenIdle()
	}
}

// avoid keeps the client away from a host for a while.
func (c *client) avoid(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.avoided[address] = time.Now().Add(avoidTime)
}

// to returns a connection to an object's last known host, or to any host.
func (c *client) to(what string) (*connection, error) {
	c.mu.Lock()
	address := c.where[what]
	now := time.Now()
	if address == "" || now.Before(c.avoided[address]) || c.confined && !slices.Contains(c.hosts, address) {
		var good []string
		for _, a := range c.hosts {
			if !now.Before(c.avoided[a]) {
				good = append(good, a)
			}
		}
		if len(good) == 0 {
			good = c.hosts
		}
		address = good[mathrand.IntN(len(good))]
		c.where[what] = address
	}
	l := c.connections[address]
	c.mu.Unlock()
	if l != nil && l.alive() {
		return l, nil
	}
	l, err := connect(address, c.onPush)
	if err != nil {
		c.avoid(address)
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.connections[address]; other != nil && other.alive() {
		l.close()
		return other, nil
	}
	c.connections[address] = l
	return l, nil
}

// confine restricts the client to its given hosts from now on.
func (c *client) confine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confined = true
	for address, l := range c.connections {
		if !slices.Contains(c.hosts, address) {
			l.close()
		}
	}
}

func (c *client) closeConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.connections {
		l.close()
	}
}

// request sends a request repeatedly, to any host, until there is a final answer, and returns it if successful. A
// mutation of the session is sent only over connections bound to the session.
func (c *client) request(what string, bind bool, make func() protocol.RequestMessage) (*protocol.Answer, *connection,
	error) {
	unbound := 0
	for try := 0; ; try++ {
		if c.ended() != "" {
			return nil, nil, errEnded
		}
		if c.isStopped() {
			return nil, nil, errStopped
		}
		a, l, err := c.once(what, bind, make)
		if err != nil {
			c.record.count("connection: " + cause(err))
			c.forget(what)
			backOff(try, 0)
			continue
		}
		status := a.Result.Status
		if status == protocol.StatusSuccess {
			return a, l, nil
		}
		c.record.count(fmt.Sprintf("%v %v", a.Kind, status))
		switch {
		case status == protocol.StatusMoved && a.Result.Moved.LeaderAddress != "":
			c.mu.Lock()
			c.where[what] = a.Result.Moved.LeaderAddress
			c.mu.Unlock()
			backOff(try-1, 0)
		case status == protocol.StatusStale:
			return a, l, a.Result.Err()
		case status.Retry() != protocol.RetryNever:
			if status != protocol.StatusOverloaded {
				c.forget(what)
			}
			backOff(try, a.Result.WaitMillis)
		case status == protocol.StatusSessionExpired:
			c.end("SESSION_EXPIRED to " + a.Kind.String())
			return nil, nil, errEnded
		case bind && status == protocol.StatusBadSession && unbound < 20:
			// The binding was removed meanwhile.
			unbound++
			l.setBound(false)
			backOff(try, 0)
		default:
			return a, l, a.Result.Err()
		}
	}
}

func (c *client) forget(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.where, what)
}

// once sends a request once.
func (c *client) once(what string, bind bool, make func() protocol.RequestMessage) (*protocol.Answer, *connection,
	error) {
	l, err := c.to(what)
	if err != nil {
		return nil, nil, err
	}
	fail := func(err error) (*protocol.Answer, *connection, error) {
		l.close()
		c.avoid(l.address)
		return nil, nil, err
	}
	if bind && !l.isBound() {
		a, err := l.call(&protocol.SessionBind{SessionID: c.id, SessionSecret: c.key}, answerTimeout)
		if err != nil {
			return fail(err)
		}
		if a.Result.Status != protocol.StatusSuccess {
			return a, l, nil
		}
		l.setBound(true)
	}
	m := make()
	id, answers, err := l.send(m)
	defer l.drop(id)
	if err != nil {
		return fail(err)
	}
	a, err := l.await(answers, m.Kind().Answer(), answerTimeout)
	if err != nil {
		if errors.Is(err, errNoAnswer) {
			c.record.noAnswer(m.Kind().String(), l.address)
		}
		return fail(err)
	}
	if m.Kind() == protocol.KindAcquire && a.Result.Status == protocol.StatusSuccess &&
		a.Acquire.Outcome == protocol.Queued {
		if a, err = c.queued(l, answers, a); err != nil {
			return fail(err)
		}
	}
	return a, l, nil
}

// queued waits for the result of a queued acquire, and returns it in the form of an immediate answer.
func (c *client) queued(l *connection, answers chan *protocol.Answer, first *protocol.Answer) (*protocol.Answer,
	error) {
	check := time.NewTicker(500 * time.Millisecond)
	defer check.Stop()
	for {
		select {
		case a := <-answers:
			switch a.Kind {
			case protocol.KindGranted:
				if a.Granted.OrderID != first.Acquire.OrderID {
					c.record.wrong("queued under %d and granted under %d", first.Acquire.OrderID, a.Granted.OrderID)
				}
				first.Acquire.Outcome = protocol.Acquired
				return first, nil
			case protocol.KindTimedOut:
				first.Acquire = protocol.AcquireAnswer{}
				return first, nil
			case protocol.KindAborted:
				first.Result = a.Aborted.Result
				return first, nil
			case protocol.KindSessionDetached:
				first.Result = protocol.Result{Status: protocol.StatusUnavailable, Message: "detached while it waited"}
				return first, nil
			}
		case <-l.gone:
			return nil, errors.New("gone while it waited")
		case <-check.C:
			if c.ended() != "" {
				first.Result = protocol.Result{Status: protocol.StatusSessionExpired}
				return first, nil
			}
			if c.isStopped() {
				return nil, errStopped
			}
			// A stalled host pushes nothing, and its connection does not end.
			if _, err := l.call(&protocol.Ping{}, answerTimeout); err != nil {
				return nil, err
			}
		}
	}
}

// keep keeps the session attached until it ends or is stopped.
func (c *client) keep() {
	for {
		if c.ended() != "" || c.isStopped() {
			return
		}
		c.mu.Lock()
		l := c.home
		c.mu.Unlock()
		if l == nil || !l.alive() {
			// Spread the reconnects after the loss of a host.
			time.Sleep(mathrand.N(c.timeout / 10))
			var sent time.Time
			_, l, err := c.request("home", false, func() protocol.RequestMessage {
				sent = c.attaching()
				c.mu.Lock()
				defer c.mu.Unlock()
				c.sequence++
				return &protocol.SessionAttach{SessionID: c.id, SessionSecret: c.key, AttachSequence: c.sequence}
			})
			if err != nil {
				if !errors.Is(err, errEnded) && !errors.Is(err, errStopped) {
					c.record.wrong("attach: %v", err)
					c.end("attach: " + err.Error())
				}
				return
			}
			l.setBound(true)
			c.attached(l, sent)
			continue
		}
		sent := time.Now()
		_, err := l.call(&protocol.Ping{}, max(c.timeout/3, answerTimeout))
		c.mu.Lock()
		switch {
		case err != nil:
			l.close()
			delete(c.where, "home")
			c.avoided[l.address] = time.Now().Add(avoidTime)
		case c.home == l:
			c.lease = sent.Add(c.timeout * 9 / 10)
		}
		c.mu.Unlock()
		if err == nil {
			select {
			case <-c.stopped:
				return
			case <-l.gone:
			case <-time.After(c.timeout / 5):
			}
		}
	}
}

func (c *client) isStopped() bool {
	select {
	case <-c.stopped:
		return true
	default:
		return c.record.over()
	}
}

// reattach attaches the session again, as a new process might.
func (c *client) reattach() (*client, error) {
	d := &client{
		hosts: c.hosts, record: c.record, path: c.path, timeout: c.timeout, key: c.key, id: c.id, node: c.node,
		sequence: c.sequence + 1000, number: c.number + 1000,
		connections: make(map[string]*connection), where: make(map[string]string), avoided: make(map[string]time.Time),
		stopped: make(chan struct{}),
	}
	sent := time.Now()
	_, l, err := d.request("home", false, func() protocol.RequestMessage {
		d.sequence++
		sent = d.attaching()
		return &protocol.SessionAttach{SessionID: d.id, SessionSecret: d.key, AttachSequence: d.sequence}
	})
	if err != nil {
		d.closeConnections()
		return nil, fmt.Errorf("%w: %s", err, d.ended())
	}
	l.setBound(true)
	d.attached(l, sent)
	go d.keep()
	return d, nil
}

// disconnect closes the connections; the session goes on.
func (c *client) disconnect() {
	close(c.stopped)
	c.closeConnections()
}

// backOff waits as the protocol asks for.
func backOff(try int, waitMillis uint64) {
	if try < 0 {
		return
	}
	longest := min(20*time.Millisecond<<min(try, 10), 300*time.Millisecond)
	time.Sleep(max(mathrand.N(longest)+5*time.Millisecond, time.Duration(waitMillis)*time.Millisecond))
}

// cause is an error without its variable parts.
func cause(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
