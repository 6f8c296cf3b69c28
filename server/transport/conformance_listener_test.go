package transport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestThousandsOfConnectionsComeAndGo(t *testing.T) {
	const callers = 8
	each := 250
	conform(t, func(f *fixture) {
		if f.name == "tls" {
			each = 25
		}
		f.serve(echoLines)
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				for i := range each {
					conn, err := f.dial(f.listener)
					if err != nil {
						f.Error(err)
						return
					}
					_ = conn.SetDeadline(time.Now().Add(patience))
					if i%2 == 0 {
						line := fmt.Sprintf("%d\n", i)
						_, _ = io.WriteString(conn, line)
						if got, err := bufio.NewReader(conn).ReadString('\n'); got != line {
							f.Errorf("got %q, %v", got, err)
						}
					}
					if i%3 == 0 {
						f.reset(conn)
					}
					_ = conn.Close()
				}
			})
		}
		group.Wait()
		poll(f, "all Closed", func() bool { return f.live.Load() == 0 })
	})
}

func TestAfterListenerCloseNothingIsCalled(t *testing.T) {
	conform(t, func(f *fixture) {
		var stop atomic.Bool
		var busy sync.WaitGroup
		conns, begin := make(chan Conn, 100), make(chan struct{})
		f.serve(func(c Conn) *script {
			conns <- c
			// Sends go on, from outside, while the listener closes and after.
			busy.Go(func() {
				<-begin
				for !stop.Load() {
					if c.Pending() < 10_000 {
						c.Send(pooled([]byte("tick\n")))
					}
					runtime.Gosched()
				}
			})
			return echoLines(c)
		})
		var clients []net.Conn
		for range 20 {
			conn := f.connect()
			clients = append(clients, conn)
			busy.Go(func() { _, _ = io.Copy(io.Discard, conn) })
			busy.Go(func() {
				<-begin
				for !stop.Load() {
					if _, err := conn.Write([]byte("hello\n")); err != nil {
						return
					}
				}
			})
		}
		for range clients {
			await(f, conns, "a connection")
		}
		close(begin)
		f.shut() // checks that Closed was called everywhere; the watched Events check the rest
		stop.Store(true)
		busy.Wait()
		if err := f.listener.Close(); err != nil {
			f.Errorf("the second Close: %v", err)
		}
		if conn, err := f.dial(f.listener); err == nil {
			_ = conn.Close()
			f.Error("it can be dialled after Close")
		}
	})
}

func TestListenerCloseWithSilentAndStuckPeers(t *testing.T) {
	conform(t, func(f *fixture) {
		conns := make(chan Conn, 10)
		f.serve(func(c Conn) *script {
			conns <- c
			return &script{}
		})
		for i := range 10 {
			f.connect()
			c := await(f, conns, "the connection")
			if i%2 == 0 {
				c.Send(pooled(make([]byte, 16<<20)))
			}
		}
		began := time.Now()
		f.shut()
		if took := time.Since(began); took > patience/2 {
			f.Errorf("it took %v", took)
		}
	})
}

func TestATakenPortIsAnErrorThatNamesIt(t *testing.T) {
	nobody := handlerFunc(func(Conn) Events { return nil })
	for name, listen := range map[string]func(addr string) (Listener, error){
		"gnet": func(addr string) (Listener, error) { return ListenGnet(addr, nobody, NetOptions{}) },
		"net":  func(addr string) (Listener, error) { return ListenNet(addr, nobody, NetOptions{}) },
		"tls": func(addr string) (Listener, error) {
			return ListenTLS(addr, nobody, TLSOptions{Config: localhost.serverConfig()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addr := first.Addr().String()
			if second, err := listen(addr); err == nil {
				_ = second.Close()
				t.Fatal("two listeners on one port")
			} else if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), addr) {
				t.Errorf("%v", err)
			}
			// The port is free at once, even with closing connections.
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := listen(addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = again.Close()
		})
	}
}
