//go:build linux

package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest/process"
	"github.com/signalbox/signalbox/test/history"
)

// Driver is a program around a client in any language; see drivers in docs/conformance.md. The driver needs the ability
// "history".
type Driver struct {
	Name string
	Args []string
	Env  []string // added to the environment of the run
}

// driver is the process of a Driver. The driver is unaware of histories: the run sends commands, and records replies
// and events.
type driver struct {
	*process.Process
	clock *history.Clock
	// stood is called with an interval in which a question that needs no host had no answer for a long time.
	stood func(from, to history.Time)
	gone  chan struct{} // closed when the process has ended and all lines were read
	// connected is closed when a client has connected, killed once the run has killed the process.
	connected chan struct{}
	killed    atomic.Bool
	hello     chan []string // the abilities
	lines     chan []byte   // commands on the way

	mu       sync.Mutex // guards what follows
	next     int
	calls    map[string]func(*driverLine)
	sessions map[string]*drivenSession
	leases   map[string]*drivenLease
	queued   map[string]func(uint64)
	changed  map[string]func()
	watches  map[string]*drivenWatch
	latest   *drivenSession // that was started
	asked    []history.Time // unanswered questions about the state of a session
}

// driverLine is a line from a driver: the hello, a reply or an event. Numbers may be strings.
type driverLine struct {
	Driver  string   `json:"driver"`
	Can     []string `json:"can"`
	ID      string   `json:"id"`
	Error   string   `json:"error"`
	Message string   `json:"message"`

	SessionID number          `json:"session_id"`
	Fence     number          `json:"fence"`
	Held      bool            `json:"held"`
	Released  bool            `json:"released"`
	Exists    bool            `json:"exists"`
	Limit     number          `json:"limit"`
	Revision  number          `json:"revision"`
	Data      json.RawMessage `json:"data"` // a string; for a one-shot watch a boolean
	Owners    json.RawMessage `json:"owners"`
	Waiters   json.RawMessage `json:"waiters"`

	Event   string `json:"event"`
	Session string `json:"session"`
	Lease   string `json:"lease"`
	Call    string `json:"call"`
	Watch   string `json:"watch"`
	State   string `json:"state"`
	Why     string `json:"why"`
	End     string `json:"end"`
	OrderID number `json:"order_id"`
}

// number is a number from a driver.
type number uint64

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	*n = number(v)
	return err
}

// arguments are the fields of a command, except id and do.
type arguments map[string]any

// questionPause is the interval between questions about a lease. While an answer is overdue, the interval is latePause,
// because a stalled driver has to answer all questions later.
const (
	questionPause = 20 * time.Millisecond
	latePause     = 100 * time.Millisecond
)

var errDriverGone = errors.New("chaos: the driver has ended")

// startDriver starts a driver process. Its standard error goes to a file.
func startDriver(spec Driver, clock *history.Clock, stood func(from, to history.Time), log string) (*driver, error) {
	d := &driver{
		clock: clock, stood: stood, gone: make(chan struct{}), connected: make(chan struct{}),
		hello: make(chan []string, 1), lines: make(chan []byte, 1<<16), calls: make(map[string]func(*driverLine)),
		sessions: make(map[string]*drivenSession), leases: make(map[string]*drivenLease),
		queued: make(map[string]func(uint64)), changed: make(map[string]func()), watches: make(map[string]*drivenWatch),
	}
	cmd := exec.Command(spec.Args[0], spec.Args[1:]...)
	cmd.Env = append(os.Environ(), spec.Env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("chaos: start the driver %s: %w", spec.Name, err)
	}
	reports, out := io.Pipe()
	cmd.Stdout = out
	if d.Process, err = process.Launch("driver "+spec.Name, cmd); err != nil {
		return nil, fmt.Errorf("chaos: %w", err)
	}
	go func() {
		<-d.Gone()
		_ = os.WriteFile(log, []byte(d.Errors()), 0o640)
		_ = out.Close()
	}()
	go d.write(in)
	go d.read(reports)
	go d.ask()
	return d, nil
}

// write writes commands. The pipe of a stalled process may be full.
func (d *driver) write(in io.WriteCloser) {
	defer in.Close()
	for {
		select {
		case line := <-d.lines:
			if _, err := in.Write(line); err != nil {
				return
			}
		case <-d.gone:
			return
		}
	}
}

// read reads lines until the process ends.
func (d *driver) read(reports io.Reader) {
	lines := bufio.NewScanner(reports)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var l driverLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			break // mid-line, if killed
		}
		d.take(&l)
	}
	_, _ = io.Copy(io.Discard, reports)
	d.mu.Lock()
	calls := d.calls
	d.calls = nil
	d.mu.Unlock()
	close(d.gone)
	for _, reply := range calls {
		reply(nil)
	}
}

// take takes a line.
func (d *driver) take(l *driverLine) {
	d.noticeStillness()
	d.mu.Lock()
	reply, session, lease := d.calls[l.ID], d.sessions[l.Session], d.leases[l.Lease]
	queued, changed, watch := d.queued[l.Call], d.changed[l.Watch], d.watches[l.Watch]
	if l.Event == "" {
		delete(d.calls, l.ID)
		delete(d.queued, l.ID)
	}
	d.mu.Unlock()
	switch {
	case l.Driver != "":
		d.hello <- l.Can
	case l.Event == "" && reply != nil:
		reply(l)
	case l.Event == "lost" && lease != nil:
		lease.end(errorOf(l.Why, "the client says that the lease is lost"))
	case l.Event == "state" && l.State == "ended" && session != nil:
		session.end(&client.SessionEnd{SessionID: session.id, Reason: ends[l.End], Detail: l.Why})
	case l.Event == "queued" && queued != nil:
		queued(uint64(l.OrderID))
	case l.Event == "changed" && changed != nil:
		changed()
	case l.Event == "view" && watch != nil:
		watch.show(history.View{Semaphore: watch.of, State: *l.state(l.Exists)})
	case l.Event == "watch_end" && watch != nil:
		watch.end(errorOf(l.Why, "the watch ended"))
	}
}

// ends maps driver words to session end reasons.
var ends = map[string]client.EndReason{
	"silence": client.EndUnreachable, "expired": client.EndExpired, "destroyed": client.EndDestroyed,
	"node_dropped": client.EndNodeDropped, "taken": client.EndTakenOver, "closed": client.EndClosed,
}

// errorOf maps a driver word to a Go client error.
func errorOf(word, message string) error {
	is := map[string]error{
		"NOT_ACQUIRED": client.ErrNotAcquired, "CANCELLED": context.Canceled, "FENCED": client.ErrFenced,
		"SESSION_EXPIRED": client.ErrSessionExpired, "BAD_SESSION": client.ErrSessionExpired,
		"SESSION_CLOSED": client.ErrSessionClosed, "NOT_FOUND": client.ErrNotFound,
		"ALREADY_EXISTS": client.ErrAlreadyExists, "PRECONDITION_FAILED": client.ErrPreconditionFailed,
		"QUOTA_EXCEEDED": client.ErrQuotaExceeded, "BAD_REQUEST": client.ErrBadRequest,
		"RELEASED": client.ErrReleased, "LEASE_LOST": client.ErrLeaseLost, "CLOSED": client.ErrClosed,
		"INTERNAL": client.ErrInternal, "UNSUPPORTED": client.ErrUnsupported, "UNAUTHORIZED": client.ErrUnauthorized,
		"UNAVAILABLE": client.ErrUnavailable,
	}[word]
	if is == nil {
		return fmt.Errorf("%s: %s", word, message)
	}
	return fmt.Errorf("%w: %s", is, message)
}

// state is the state in a line.
func (l *driverLine) state(exists bool) *history.State {
	if !exists {
		return &history.State{Revision: uint64(l.Revision)}
	}
	links := func(raw json.RawMessage) (list []history.Link) {
		var all []struct {
			OrderID   number `json:"order_id"`
			SessionID number `json:"session_id"`
			Count     number `json:"count"`
		}
		_ = json.Unmarshal(raw, &all) // nil if missing
		for _, x := range all {
			list = append(list, history.Link{
				Session: uint64(x.SessionID), Order: uint64(x.OrderID), Count: uint64(x.Count),
			})
		}
		return list
	}
	s := &history.State{
		Exists: true, Limit: uint64(l.Limit), Revision: uint64(l.Revision), Owners: links(l.Owners),
		Waiters: links(l.Waiters),
	}
	_ = json.Unmarshal(l.Data, &s.Data)
	return s
}

// send sends a command. reply is called with the reply, nil if the driver ends first. known registers the command's id
// before the command is sent.
func (d *driver) send(do string, with arguments, known func(id string), reply func(*driverLine)) (id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	id = "c" + strconv.Itoa(d.next)
	line := arguments{"id": id, "do": do}
	for name, value := range with {
		line[name] = value
	}
	b, err := json.Marshal(line)
	if err != nil {
		panic(err) // commands consist of strings, numbers and lists
	}
	if d.calls == nil {
		go reply(nil)
		return id
	}
	d.calls[id] = reply
	if known != nil {
		known(id)
	}
	select {
	case d.lines <- append(b, '\n'):
	case <-d.gone:
	}
	return id
}

// call sends a command and waits for the reply. If the context ends, the command is cancelled like in a program, and
// its outcome still counts.
func (d *driver) call(ctx context.Context, do string, with arguments, known func(id string)) (*driverLine, error) {
	replied := make(chan *driverLine, 1)
	id := d.send(do, with, known, func(l *driverLine) { replied <- l })
	var l *driverLine
	select {
	case l = <-replied:
	case <-ctx.Done():
		d.send("cancel", arguments{"call": id}, nil, func(*driverLine) {})
		l = <-replied
	}
	switch {
	case l == nil:
		return nil, errDriverGone
	case l.Error != "":
		return nil, errorOf(l.Error, l.Message)
	}
	return l, nil
}

// ask asks about all leases again and again, without waiting for answers.
func (d *driver) ask() {
	tick := time.NewTicker(questionPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-d.gone:
			return
		}
		d.askState()
		d.mu.Lock()
		var leases []*drivenLease
		for _, l := range d.leases {
			leases = append(leases, l)
		}
		d.mu.Unlock()
		for _, l := range leases {
			l.question(nil)
		}
	}
}

// askState asks about the state of a session, which shows whether the process runs. While an answer is overdue, no
// further questions are sent.
func (d *driver) askState() {
	d.mu.Lock()
	s, open := d.latest, len(d.asked)
	if s == nil || open > 0 && d.clock.Now()-d.asked[0] > stillness {
		d.mu.Unlock()
		return
	}
	d.asked = append(d.asked, d.clock.Now())
	d.mu.Unlock()
	d.send("state", arguments{"session": s.command}, nil, func(*driverLine) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked = d.asked[1:]
	})
}

// noticeStillness looks for an unanswered question on every report: an event noticed after a stall may have happened at
// any time during the stall.
func (d *driver) noticeStillness() {
	d.mu.Lock()
	now, from := d.clock.Now(), history.Never
	if len(d.asked) > 0 {
		from = d.asked[0]
	}
	d.mu.Unlock()
	if from != history.Never && now-from > stillness {
		d.stood(from, now)
	}
}

// drivenClient is the client behind a driver.
type drivenClient struct{ *driver }

// connect waits for the hello, and creates the client. It returns nil if the context ends first, or the run kills the
// process.
func (d *driver) connect(ctx context.Context, routes map[string]string) (*drivenClient, error) {
	select {
	case can := <-d.hello:
		if !slices.Contains(can, "history") {
			return nil, fmt.Errorf("chaos: a driver that takes part needs the ability %q", "history")
		}
	case <-ctx.Done():
		return nil, nil
	case <-d.gone:
		return nil, d.ended()
	}
	var addresses []string
	for address := range routes {
		addresses = append(addresses, address)
	}
	slices.Sort(addresses)
	for {
		_, err := d.call(ctx, "connect", arguments{"addresses": addresses, "routes": routes}, nil)
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case errors.Is(err, errDriverGone):
			return nil, d.ended()
		case err == nil:
			close(d.connected)
			return &drivenClient{d}, nil
		case !errors.Is(err, client.ErrUnavailable):
			return nil, err
		}
	}
}

// ended is the error of an exited process, nil if the run has killed it.
func (d *driver) ended() error {
	if d.killed.Load() {
		return nil
	}
	return errDriverGone
}

// Close closes the client, and waits for the process to exit.
func (c *drivenClient) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	if _, err := c.call(ctx, "stop", nil, nil); err != nil {
		return err
	}
	if code, err := c.Wait(commandTimeout); err != nil || code != 0 {
		return fmt.Errorf("chaos: %s ends with code %d: %w", c.Name, code, err)
	}
	return nil
}

// drivenWorkers are workers with a client behind a driver.
type drivenWorkers struct {
	*workers
	driver *driver
	number int
	record *history.Recorder
}

// startDriven starts a driver and its workers.
func startDriven(spec Driver, a Assignment, record *history.Recorder, dir string) (*drivenWorkers, error) {
	w := newWorkers(a, record)
	d, err := startDriver(spec, w.recorder.Clock, w.recorder.stood,
		filepath.Join(dir, fmt.Sprintf("client-%d-%d.log", a.Client, a.Incarnation)))
	if err != nil {
		w.recorder.close()
		return nil, err
	}
	w.Connect = connector(d, a, w.recorder)
	w.Start()
	return &drivenWorkers{w, d, a.Client, record}, nil
}

func (w *drivenWorkers) stopPrograms() error {
	late := time.AfterFunc(commandTimeout, w.driver.Kill)
	w.StopPrograms()
	late.Stop()
	select {
	case <-w.driver.gone:
		return fmt.Errorf("chaos: client %d, %s, ended by itself, or did not reply and was killed, with code %d: %s",
			w.number, w.driver.Name, w.driver.ExitCode(), w.driver.Errors())
	default:
		return nil
	}
}

func (w *drivenWorkers) close() error {
	defer w.driver.Kill()
	return w.workers.close()
}

// pause stops the process with SIGSTOP.
func (w *drivenWorkers) pause() (resume func()) {
	if w.driver.Signal(syscall.SIGSTOP) != nil {
		return nil
	}
	return func() { _ = w.driver.Signal(syscall.SIGCONT) }
}

// awaitConnected waits until the client has connected, for as long as a command may take.
func (w *drivenWorkers) awaitConnected(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	select {
	case <-w.driver.connected:
	case <-w.driver.gone:
	case <-ctx.Done():
	}
}

// kill kills the process. The client's beliefs last until the latest known time.
func (w *drivenWorkers) kill() {
	at := w.recorder.Now()
	w.driver.killed.Store(true)
	w.driver.Kill()
	<-w.driver.gone
	w.recorder.endHolds()
	w.StopPrograms()
	_ = w.Close()
	w.recorder.close()
	w.record.ClientDied(w.number, at)
}
