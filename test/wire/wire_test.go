//go:build linux

package wire

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// prompt is the time limit for expected events, still the waiting time for unexpected ones.
const (
	prompt = time.Minute
	still  = 100 * time.Millisecond
)

// echo is a wire to a server that echoes every line, and a listener for the wire.
func echo(t *testing.T) (*Wire, net.Addr) {
	t.Helper()
	server, door := listen(t), listen(t)
	serve(server, func(c *net.TCPConn) {
		_, _ = io.Copy(c, c)
		_ = c.Close()
	})
	l := New(server.Addr().String())
	serve(door, l.Forward)
	t.Cleanup(l.Reset)
	return l, door.Addr()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func serve(l net.Listener, f func(*net.TCPConn)) {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f(c.(*net.TCPConn))
		}
	}()
}

// caller is a connection through a link.
type caller struct {
	*net.TCPConn
	t     *testing.T
	lines *bufio.Reader
}

func call(t *testing.T, to net.Addr) *caller {
	t.Helper()
	c, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &caller{c.(*net.TCPConn), t, bufio.NewReader(c)}
}

func (c *caller) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// hear expects a line.
func (c *caller) hear(want string) {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(prompt))
	if have, err := c.lines.ReadString('\n'); have != want+"\n" {
		c.t.Fatalf("heard %q, %v, want %q", have, err, want)
	}
}

// hearNothing expects silence, not even an end of the connection.
func (c *caller) hearNothing() {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(still))
	if b, err := c.lines.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %q, %v, want nothing", b, err)
	}
}

// hearEnd expects the connection to end.
func (c *caller) hearEnd() {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(prompt))
	if b, err := c.lines.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %q, %v, want an end", b, err)
	}
}

func TestALinkCarriesWhatIsSaid(t *testing.T) {
	_, to := echo(t)
	c := call(t, to)
	c.say("one")
	c.hear("one")
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.hearEnd()
}

func TestALinkThatHoldsLetsNothingThroughAndLosesNothing(t *testing.T) {
	for name, directions := range map[string][]Direction{
		"forward": {Forward}, "backward": {Backward}, "both directions": Both,
	} {
		t.Run(name, func(t *testing.T) {
			l, to := echo(t)
			old := call(t, to)
			old.say("one")
			old.hear("one")
			release := l.Hold(directions...)
			again := l.Hold(directions...)
			old.say("two")
			old.hearNothing()
			fresh := call(t, to)
			fresh.say("three")
			fresh.hearNothing()
			release()
			old.hearNothing() // the other hold is still active
			again()
			old.hear("two")
			fresh.hear("three")
		})
	}
}

func TestTheEndOfAConnectionIsHeldToo(t *testing.T) {
	l, to := echo(t)
	c := call(t, to)
	c.say("one")
	c.hear("one")
	release := l.Hold(Backward)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.hearNothing()
	release()
	c.hearEnd()
}

func TestALinkThatDelaysTakesThatLong(t *testing.T) {
	l, to := echo(t)
	c := call(t, to)
	const each = 50 * time.Millisecond
	end := l.Delay(each)
	began := time.Now()
	c.say("one")
	c.say("two")
	c.hear("one")
	c.hear("two")
	if took := time.Since(began); took < 2*each {
		t.Errorf("there and back took %v, want at least %v", took, 2*each)
	}
	end()
	c.say("three")
	c.hear("three")
}

func TestALinkThatThrottlesTakesThatLong(t *testing.T) {
	l, to := echo(t)
	c := call(t, to)
	// The lowest rate counts, whichever came first or ends first.
	l.Throttle(1 << 20)()
	end := l.Throttle(1 << 10)
	defer end()
	defer l.Throttle(1 << 20)()
	line := string(make([]byte, 255))
	began := time.Now()
	c.say(line) // arrives after a quarter of a second, before the next line
	c.say("end")
	c.hear(line)
	c.hear("end")
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("256 bytes took %v at 1024 in a second", took)
	}
}

func TestAResetEndsConnectionsAndOnlyThose(t *testing.T) {
	l, to := echo(t)
	c := call(t, to)
	c.say("one")
	c.hear("one")
	l.Reset()
	c.hearEnd()
	c = call(t, to)
	c.say("two")
	c.hear("two")
}

func TestALostConnectionGoesSilentAndNewOnesWork(t *testing.T) {
	l, to := echo(t)
	old := call(t, to)
	old.say("one")
	old.hear("one")
	end := l.Lose()
	old.say("two")
	old.hearNothing()
	fresh := call(t, to)
	fresh.say("three")
	fresh.hear("three")
	end()
	old.hearEnd()
}

func TestAWireToNoListenerEndsTheConnection(t *testing.T) {
	closed := listen(t)
	_ = closed.Close()
	door := listen(t)
	serve(door, New(closed.Addr().String()).Forward)
	c, err := net.Dial("tcp", door.Addr().String())
	if err != nil {
		return // it ended that fast
	}
	(&caller{c.(*net.TCPConn), t, bufio.NewReader(c)}).hearEnd()
	_ = c.Close()
}

func TestASocketHasAnOwner(t *testing.T) {
	l := listen(t)
	c := call(t, l.Addr())
	local, remote := c.LocalAddr().(*net.TCPAddr).Port, c.RemoteAddr().(*net.TCPAddr).Port
	if i, ok := socketOwner(local, remote, []int{0, 1, os.Getpid()}); !ok || i != 2 {
		t.Errorf("the owner is %d, %v, want this process", i, ok)
	}
	if i, ok := socketOwner(local, remote, []int{0, 1}); ok {
		t.Errorf("the owner is %d, and it has none of the sockets", i)
	}
}
