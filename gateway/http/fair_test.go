package http

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/fairshare"
)

// accepting accepts the named tokens.
func accepting(names ...string) func(*Config) {
	return func(c *Config) {
		open := c.Open
		c.Open = func(ctx context.Context, token string) (*client.Client, error) {
			known := &tokens{token: token, open: open}
			if !slices.Contains(names, token) {
				known.token = "none of these"
			}
			return known.check(ctx, token)
		}
	}
}

// TestHoldersOfATokenShutNoNewcomerOut: a gateway is full of kept connections that each have shown a token once. A
// newcomer with a new token always gets an answer, whatever addresses the connections have.
func TestHoldersOfATokenShutNoNewcomerOut(t *testing.T) {
	const limit, newcomers = 256, 40
	for what, address := range map[string]func(int) string{
		"one address": oneAddress, "three addresses": func(i int) string { return fmt.Sprintf("127.1.0.%d", i%3) },
		"many addresses": manyAddresses,
	} {
		t.Run(what, func(t *testing.T) {
			d := newDoor(t, nil, func(to *Config) {
				to.Connections = limit
				accepting("least", "good")(to)
			})
			for i := range limit {
				c, err := d.from(address(i))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				askOver(t, c, "least")
			}
			for i := range newcomers {
				from := "127.0.0.9"
				if i%2 == 1 {
					from = address(i)
				}
				c, err := d.from(from)
				if err != nil {
					t.Fatal(err)
				}
				askOver(t, c, "good")
				if i%4 == 0 { // the connections' pools come back at once
					again, err := d.from(address(i))
					if err != nil {
						t.Fatal(err)
					}
					defer again.Close()
					askOver(t, again, "least")
				}
				c.Close()
			}
		})
	}
}

// askOver makes a request over a connection, and reads the answer.
func askOver(t *testing.T, c net.Conn, token string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/nodes", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if err = r.Write(c); err != nil {
		t.Fatalf("with the token %s: %v", token, err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		t.Fatalf("with the token %s: %v", token, err)
	}
	defer answer.Body.Close()
	if _, err = io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("with the token %s: status %d, %v", token, answer.StatusCode, err)
	}
}

// TestProgramsThatShareATokenOrAnAddressKeepTheirConnections while a stranger opens connections, even for programs with
// different tokens behind one address.
func TestProgramsThatShareATokenOrAnAddressKeepTheirConnections(t *testing.T) {
	const limit, programs = 256, 60
	names := []string{"shared"}
	for i := range programs {
		names = append(names, fmt.Sprint("token", i))
	}
	d := newDoor(t, nil, func(to *Config) {
		to.Connections = limit
		accepting(names...)(to)
	})
	var pods, behindOne []net.Conn
	for i := range programs {
		pod, err := d.from(fmt.Sprintf("127.3.0.%d", i))
		if err != nil {
			t.Fatal(err)
		}
		defer pod.Close()
		askOver(t, pod, "shared")
		program, err := d.from("127.4.0.1")
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		askOver(t, program, names[i+1])
		pods, behindOne = append(pods, pod), append(behindOne, program)
	}
	d.besiege(func(i int) string {
		if i%2 == 0 {
			return "127.4.0.1"
		}
		return manyAddresses(i)
	}, "")
	for i := range programs {
		askOver(t, pods[i], "shared")
		askOver(t, behindOne[i], names[i+1])
	}
}

// TestUnreadPipelinedRequestsDelayNoOtherClient: 300 addresses send 200 requests at once over each of thousands of
// connections, and read nothing. Other clients, with and without a token, get answers within a second. The second is
// processor time, so other programs on the machine do not count.
func TestUnreadPipelinedRequestsDelayNoOtherClient(t *testing.T) {
	const attackers, addresses, each = 4000, 300, 200
	if testing.Short() {
		t.Skip("it measures time, and short tests run under the race detector")
	}
	d := newDoor(t, nil, nil)
	d.served("a client before", d.customer("127.0.0.2"))
	text := strings.Repeat(request+"\r\n", each)
	held := make([]net.Conn, attackers)
	var opening sync.WaitGroup
	opened := make(chan struct{})
	for worker := range 16 {
		opening.Go(func() {
			for i := worker; i < attackers; i += 16 {
				c, err := d.from(fmt.Sprintf("127.2.%d.%d", i%addresses>>8, i%addresses&255))
				if err != nil {
					continue // closed in favour of others
				}
				held[i] = c
				_, _ = io.WriteString(c, text) // as above
			}
		})
	}
	go func() {
		opening.Wait()
		close(opened)
	}()
	var took []time.Duration
	probe := func(what, address, token string) {
		by := d.customer(address)
		defer by.CloseIdleConnections()
		began := processorTime(t)
		wall, err := d.askAs(by, token, http.MethodGet, "http://"+d.Addr().String()+"/v1/nodes", "")
		took = append(took, min(wall, (processorTime(t)-began)/time.Duration(runtime.GOMAXPROCS(0))))
		if err != nil {
			t.Errorf("%s: %v after %v", what, err, wall)
		}
	}
	for during := true; during; {
		select {
		case <-opened:
			during = false
		default:
		}
		probe("without a token", "127.0.0.3", "")
		probe("with a token", "127.0.0.3", "good")
		probe("from an attacker's address", "127.2.0.1", "")
	}
	for _, c := range held {
		if c != nil {
			c.Close()
		}
	}
	slices.Sort(took)
	t.Logf("%d probes: median %v, longest %v", len(took), took[len(took)/2], took[len(took)-1])
	if longest := took[len(took)-1]; longest > soon {
		t.Errorf("a probe took %v", longest)
	}
}

// processorTime is the process's processor time.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestWaitsAreDividedAmongTokens: callers without a token hold all wait slots. A caller with a token takes one slot,
// and the request that had the slot is answered like a poll. The callers' next wait is refused, and requests without a
// wait are executed.
func TestWaitsAreDividedAmongTokens(t *testing.T) {
	const limit = 3
	st := newStage(t, nil)
	st.gateway.waits = fairshare.NewFixedPool(limit)
	st.node("/a")
	acquire := func(token string, poll time.Duration) <-chan string {
		var started struct{ Session string }
		with := func(r *http.Request) {
			r.Header.Set(sessionHeader, started.Session)
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
		}
		st.send(http.MethodPost, "/v1/session/create", `{"node":"/a","timeout_ms":1800000}`, with).in(t, &started)
		outcome := make(chan string, 1)
		go func() {
			r := st.send(http.MethodPost, "/v1/semaphore/acquire",
				fmt.Sprintf(`{"node":"/a","name":"lock","limit":1,"poll_ms":%d}`, poll.Milliseconds()), with)
			var a struct{ Outcome string }
			if json.Unmarshal([]byte(r.text), &a) != nil || a.Outcome == "" {
				a.Outcome = fmt.Sprint(r.code)
			}
			outcome <- a.Outcome
		}()
		return outcome
	}
	if got := <-acquire("", 0); got != "acquired" {
		t.Fatal(got)
	}
	var theirs [limit]<-chan string
	for i := range theirs {
		theirs[i] = acquire("", time.Hour)
		await(t, "one more waits", func() bool { return st.gateway.waits.Counts().Held == int64(i+1) })
	}
	await(t, "all wait", func() bool { return st.waiters() == limit })
	if got := <-acquire("", time.Hour); got != "429" {
		t.Errorf("a further one gets %s", got)
	}
	ours := acquire("good", time.Hour)
	if got := <-theirs[0]; got != "waiting" {
		t.Errorf("the one that has waited for longest gets %s", got)
	}
	await(t, "the other waits too", func() bool { return st.waiters() == limit+1 })
	if r := st.get("/v1/nodes"); r.code != http.StatusOK {
		t.Errorf("a request that waits for nothing: %d %s", r.code, r.text)
	}
	for _, of := range []<-chan string{theirs[1], theirs[2], ours} {
		select {
		case got := <-of:
			t.Errorf("another wait ends with %s", got)
		default:
			defer func() { <-of }()
		}
	}
	st.gateway.cancel()
}

// waiters counts the lock's waiters.
func (st *stage) waiters() int {
	st.Helper()
	d, err := st.client.Node("/a").Describe(st.Context(), "lock", client.WithWaiters())
	if err != nil {
		st.Fatal(err)
	}
	return len(d.Waiters)
}
