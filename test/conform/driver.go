package conform

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
)

// command is a line sent to the driver.
type command struct {
	ID        string            `json:"id"`
	Do        string            `json:"do"`
	Addresses []string          `json:"addresses"`
	Routes    map[string]string `json:"routes"`
	Token     string            `json:"token"`
	Path      string            `json:"path"`
	TimeoutMS int               `json:"timeout_ms"`
	Renew     bool              `json:"renew"`
	Session   string            `json:"session"`
	Name      string            `json:"name"`
	Count     json.Number       `json:"count"`
	WaitMS    *int              `json:"wait_ms"`
	Data      string            `json:"data"`
	Ephemeral bool              `json:"ephemeral"`
	Lease     string            `json:"lease"`
	Limit     json.Number       `json:"limit"`
	Force     bool              `json:"force"`
	Watch     string            `json:"watch"`
	Call      string            `json:"call"`
	Revision  json.Number       `json:"revision"`
	Strict    bool              `json:"strict"`
	Instance  string            `json:"instance"`
	Location  string            `json:"location"`
	Text      string            `json:"text"`
	Code      string            `json:"code"`
	Member    string            `json:"member"`
}

// result is the additional content of a reply or an event.
type result map[string]any

// driver is the client with all objects created by commands. An object's name is known before the reply is sent.
type driver struct {
	out    io.Writer
	client *client.Client // set by the first command; nil if it failed
	failed error          // first command's error

	mu        sync.Mutex // guards the following fields, and the output
	sessions  map[string]*client.Session
	leases    map[string]*client.Lease
	owners    map[*client.Lease]string // latest command that returned each lease
	cancels   map[string]context.CancelFunc
	released  map[*client.Lease]bool
	instances map[string]*instance
	members   map[string]*process.Member
}

// Drive reads commands and writes replies and events until the input ends or a command stops the driver.
func Drive(in io.Reader, out io.Writer) error {
	d := &driver{
		out: out, sessions: make(map[string]*client.Session), leases: make(map[string]*client.Lease),
		owners: make(map[*client.Lease]string), cancels: make(map[string]context.CancelFunc),
		released: make(map[*client.Lease]bool), instances: make(map[string]*instance),
		members: make(map[string]*process.Member),
	}
	d.say(result{"driver": "go", "can": []string{
		"node", "describe", "watch", "changed", "change", "update", "ephemeral", "renew", "history",
		"rollout", "process", "list",
	}})
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return fmt.Errorf("driver: %w: %s", err, lines.Bytes())
		}
		if c.Do == "stop" {
			d.reply(c.ID, nil, d.stop())
			return nil
		}
		d.begin(&c)
	}
	return d.stop()
}

// stop ends the client like a program at its end.
func (d *driver) stop() error {
	if d.client == nil {
		return nil
	}
	return d.client.Close()
}

// begin starts a command. The next line can already cancel a command that has a context.
func (d *driver) begin(c *command) {
	ctx, cancel := context.WithCancel(context.Background())
	d.mu.Lock()
	d.cancels[c.ID] = cancel
	d.mu.Unlock()
	f := commands[c.Do]
	if f == nil {
		d.reply(c.ID, nil, client.ErrUnsupported)
		return
	}
	if c.Do == "connect" { // all others need the client
		_, d.failed = f(d, ctx, c)
		d.reply(c.ID, nil, d.failed)
		return
	}
	if d.failed != nil {
		d.reply(c.ID, nil, d.failed)
		return
	}
	go func() {
		r, err := f(d, ctx, c)
		d.reply(c.ID, r, err)
	}()
}

// reply writes the reply to a command.
func (d *driver) reply(id string, r result, err error) {
	if r == nil {
		r = result{}
	}
	r["id"] = id
	if err != nil {
		r["error"], r["message"] = word(err), err.Error()
	} else {
		r["ok"] = true
	}
	d.say(r)
}

func (d *driver) say(r result) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // results consist of strings, numbers and lists
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.out.Write(append(b, '\n')) // a driver without a reader is killed
}

// session returns a command's session.
func (d *driver) session(c *command) (*client.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[c.Session]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("there is no session %q", c.Session)
}

func (d *driver) lease(c *command) (*client.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.leases[c.Lease]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("there is no lease %q", c.Lease)
}

// follow records a lease, and reports its loss. Acquiring an owned semaphore returns the same lease again, whose loss
// is reported under each name.
func (d *driver) follow(id string, l *client.Lease) {
	d.mu.Lock()
	d.leases[id] = l
	d.mu.Unlock()
	go func() {
		<-l.Context().Done()
		d.mu.Lock()
		released := d.released[l]
		d.mu.Unlock()
		if !released {
			d.say(result{"event": "lost", "lease": id, "why": word(l.Err())})
		}
	}()
}

// number reads a number argument in any notation.
func number(n json.Number, otherwise uint64) uint64 {
	var v uint64
	if _, err := fmt.Sscan(strings.Trim(n.String(), `"`), &v); err != nil {
		return otherwise
	}
	return v
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
