package delay

import (
	"net"
	"sync"
	"time"
)

// Links are the links to a cluster's hosts, each with a relay that delays messages in both directions.
type Links struct {
	// Addresses are the addresses for connecting hosts. Without a delay, the hosts' own addresses.
	Addresses []string

	each  time.Duration
	mu    sync.Mutex
	open  map[net.Conn]struct{} // nil once closed
	ports []net.Listener
	done  sync.WaitGroup
}

// Link creates links to the hosts that listen at the given addresses. each is the delay per message and direction.
func Link(hosts []string, each time.Duration) (*Links, error) {
	l := &Links{each: each, open: make(map[net.Conn]struct{})}
	if each == 0 {
		l.Addresses = hosts
		return l, nil
	}
	for _, host := range hosts {
		port, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			l.Close()
			return nil, err
		}
		l.ports, l.Addresses = append(l.ports, port), append(l.Addresses, port.Addr().String())
		l.done.Go(func() { l.accept(port, host) })
	}
	return l, nil
}

// Close ends the relays and their connections.
func (l *Links) Close() {
	l.mu.Lock()
	for conn := range l.open {
		conn.Close()
	}
	l.open = nil
	l.mu.Unlock()
	for _, port := range l.ports {
		port.Close()
	}
	l.done.Wait()
}

func (l *Links) accept(port net.Listener, host string) {
	for {
		from, err := port.Accept()
		if err != nil {
			return
		}
		l.done.Go(func() {
			to, err := net.Dial("tcp", host)
			if err != nil {
				from.Close()
				return
			}
			if !l.add(from, to) {
				return
			}
			l.done.Go(func() { l.pass(from, to) })
			l.pass(to, from)
		})
	}
}

// add registers both ends of a connection. After Close, add closes the ends and returns false.
func (l *Links) add(ends ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range ends {
		if l.open == nil {
			end.Close()
			continue
		}
		l.open[end] = struct{}{}
	}
	return l.open != nil
}

// message is the data from one read, and its delivery time.
type message struct {
	data []byte
	due  time.Time
}

// pass forwards one direction of a connection until one end closes, and then closes both.
func (l *Links) pass(from, to net.Conn) {
	messages := make(chan message, 1024)
	l.done.Go(func() {
		defer close(messages)
		for {
			data := make([]byte, 64<<10)
			n, err := from.Read(data)
			if n > 0 {
				messages <- message{data[:n], time.Now().Add(l.each)}
			}
			if err != nil {
				return
			}
		}
	})
	for m := range messages {
		time.Sleep(time.Until(m.due))
		if _, err := to.Write(m.data); err != nil {
			from.Close() // ends the reader
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range []net.Conn{from, to} {
		end.Close()
		delete(l.open, end)
	}
}
