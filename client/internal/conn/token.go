package conn

import "time"

// readToken is the right to read a connection. The lock of the connection guards the token, except for the ticker.
//
// The connection's own goroutine, the reader, holds the token as long as anything is awaited. After the answer to the
// only request the reader lends the token: a caller whose next request is alone again reads the answer by itself, as a
// program with a bare connection would. Waking one goroutine from another costs about as much as the whole way to a
// host of the same machine and back.
//
// A caller that reads does not see the end of its context, and pushes lie unread while no goroutine holds the token.
// So neither state lasts: the reader checks the token every lendTime, takes the token if no caller has used it since,
// and recalls the token from a caller that has waited as long.
type readToken struct {
	holder        tokenHolder
	alone         uint64        // the latest request that was alone when sent
	answeredAlone bool          // the latest answer was to alone
	lent          uint64        // how often a caller has got the token
	checked       uint64        // lent when the reader checked the token
	recalled      bool          // a caller is to give the token back
	returned      chan struct{} // the reader has its token again; holds one
	ticker        *time.Ticker  // of the reader, while the token is lent
}

type tokenHolder uint8

const (
	reader   tokenHolder = iota // the reader reads, or is about to
	noHolder                    // the next caller whose request is alone will get the token
	caller                      // a caller reads, until its answer is there
)

// lendTime is how often the reader checks a token that is lent. Twice the time is the longest for which the end of a
// caller's context, or a push that no caller waits for, may go unnoticed.
const lendTime = 2 * time.Millisecond

func newReadToken() readToken {
	t := readToken{returned: make(chan struct{}, 1), ticker: time.NewTicker(lendTime)}
	t.ticker.Stop()
	return t
}

// lend gives the reader's token away, if a caller is likely to use it. The reader then waits in awaitToken.
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

// recall gives a token that no caller holds to the reader. The lock is held.
func (c *Conn) recall() {
	c.token.holder = reader
	select {
	case c.token.returned <- struct{}{}:
	default:
	}
}

// awaitToken waits until the reader has its token again. It returns false if the connection is down.
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

// Lent returns how often callers have read the answers of their requests by themselves.
func (c *Conn) Lent() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token.lent
}
