package conn

import "time"

// readToken is the right to read a connection. The connection's lock guards the token, except for the ticker.
//
// The connection's own goroutine, the reader, holds the token while any response is pending. After answering the only
// request, the reader lends the token: if a caller's next request is alone again, the caller reads the response itself,
// like a program with a bare connection. Waking one goroutine from another costs about as much as a round trip to a
// host on the same machine.
//
// A reading caller does not notice its context's end, and pushes stay unread while no goroutine holds the token. Both
// states are bounded: the reader checks the token every lendTime, takes it back if no caller has used it since, and
// recalls it from a caller that has waited as long.
type readToken struct {
	holder        tokenHolder
	alone         uint64        // latest request that was alone when sent
	answeredAlone bool          // the latest answer was to alone
	lent          uint64        // how often a caller has got the token
	checked       uint64        // lent when the reader checked the token
	recalled      bool          // a caller is to give the token back
	returned      chan struct{} // the reader has its token back; capacity 1
	ticker        *time.Ticker  // reader's ticker while the token is lent
}

type tokenHolder uint8

const (
	reader   tokenHolder = iota // the reader reads, or is about to
	noHolder                    // the next caller whose request is alone gets the token
	caller                      // a caller reads until its response arrives
)

// lendTime is how often the reader checks a lent token. A context's end, or a push that no caller waits for, may go
// unnoticed for up to twice the time.
const lendTime = 2 * time.Millisecond

func newReadToken() readToken {
	t := readToken{returned: make(chan struct{}, 1), ticker: time.NewTicker(lendTime)}
	t.ticker.Stop()
	return t
}

// lend gives the reader's token away if a caller is likely to use it. The reader then waits in awaitToken.
func (c *Conn) lend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.token
	if !t.answeredAlone || !c.idle() || c.dialer.config.KeepToken {
		return false
	}
	t.answeredAlone = false
	t.holder, t.checked = noHolder, t.lent
	return true
}

// recall returns an unused token to the reader. The lock is held.
func (c *Conn) recall() {
	c.token.holder = reader
	select {
	case c.token.returned <- struct{}{}:
	default:
	}
}

// awaitToken waits until the reader has its token back. It returns false if the connection is down.
func (c *Conn) awaitToken() bool {
	t := &c.token
	t.ticker.Reset(lendTime)
	defer t.ticker.Stop()
	for {
		select {
		case <-t.returned:
			return true
		case <-c.down:
			return false
		case <-t.ticker.C:
		}
		c.mu.Lock()
		if unused := t.lent == t.checked; unused && t.holder == noHolder {
			t.holder = reader
			c.mu.Unlock()
			return true
		} else if unused && t.holder == caller && !t.recalled {
			t.recalled = true
			_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // a closed connection cannot be read either
		}
		t.checked = t.lent
		c.mu.Unlock()
	}
}

// Lent returns how often callers have read their own responses.
func (c *Conn) Lent() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token.lent
}
