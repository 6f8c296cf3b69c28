package admin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// dialing returns a function to dial a server, for connections closed with the test.
func dialing(t *testing.T, s *Server) func() net.Conn {
	return func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c
	}
}

// askOver asks for a page over a connection, and returns the code.
func askOver(t *testing.T, c net.Conn, path string) int {
	t.Helper()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	return answer.StatusCode
}

func TestHealthAnswersWhateverConnectionsAreHeldOpen(t *testing.T) {
	for name, hold := range map[string]func(t *testing.T, c net.Conn){
		"that said nothing": func(*testing.T, net.Conn) {},
		"with half a request": func(_ *testing.T,
			c net.Conn) {
			fmt.Fprint(c, "GET /metrics HTTP/1.1\r\nHost: ")
		},
		"with an answer, then idle": func(t *testing.T, c net.Conn) { askOver(t, c, "/health/live") },
	} {
		t.Run(name, func(t *testing.T) {
			s := listen(t)
			dial := dialing(t, s)
			first := dial()
			hold(t, first)
			for range 2*maxConnections - 1 {
				hold(t, dial())
			}
			for _, path := range []string{"/health/live", "/health/ready", "/status"} {
				if code := askOver(t, dial(), path); code != 200 {
					t.Errorf("%s: %d", path, code)
				}
			}
			// The longest idle connections were closed to make room.
			if _, err := io.ReadAll(first); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the first connection is still open")
			}
		})
	}
}

// stuck is a host whose status blocks until released.
type stuck struct {
	fake
	asked, release chan struct{}
}

func (s *stuck) Status() Status {
	s.asked <- struct{}{}
	<-s.release
	return Status{}
}

func TestHealthAnswersWhatOtherPagesDo(t *testing.T) {
	host := &stuck{asked: make(chan struct{}, 2*pageLimit), release: make(chan struct{})}
	s, err := Listen("127.0.0.1:0", Handler(host, Options{}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	dial := dialing(t, s)
	asking := make(chan int, pageLimit)
	var first net.Conn
	for range pageLimit {
		c := dial()
		if first == nil {
			first = c
		}
		go func() {
			fmt.Fprint(c, "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				asking <- 0
				return
			}
			asking <- answer.StatusCode
		}()
		<-host.asked
	}
	if code := askOver(t, dial(), "/status"); code != http.StatusServiceUnavailable {
		t.Errorf("one page more than may be made: %d", code)
	}
	for range maxConnections {
		dial() // connections waiting for a page are not closed
	}
	if code := askOver(t, dial(), "/health/live"); code != 200 {
		t.Errorf("health: %d", code)
	}
	close(host.release)
	for range pageLimit {
		if code := <-asking; code != 200 {
			t.Errorf("a page that was being made: %d", code)
		}
	}
}

func TestRequestsForOtherNamesAreRefused(t *testing.T) {
	h := Handler(&fake{}, Options{Names: Names{"box.example.com", "b"}})
	for host, pass := range map[string]bool{
		"127.0.0.1:7422": true, "10.0.0.7": true, "[::1]:7422": true, "[fe80::1%25eth0]:7422": true, "localhost": true,
		"LocalHost:1":          true,
		"box.example.com:7422": true, "BOX.example.com.": true, "b:7422": true, "": true,
		"evil.example.com": false, "evil.example.com:7422": false, "box.example.com.evil.com": false,
		"localhost.evil.com": false,
		"127.0.0.1.evil.com": false, "1.2.3": false,
	} {
		for _, path := range []string{"/status", "/metrics", "/health/ready", "/readyz", "/health/live", "/livez",
			"/"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = host
			h.ServeHTTP(w, r)
			want := http.StatusOK
			if !pass && !slices.Contains(livePaths, path) {
				want = http.StatusMisdirectedRequest
			}
			if w.Code != want {
				t.Errorf("%s for %q: %d", path, host, w.Code)
			}
			if want != http.StatusOK && !strings.Contains(w.Body.String(), "--http-allowed-hosts") {
				t.Errorf("it does not say what to do: %s", w.Body)
			}
		}
	}
}
