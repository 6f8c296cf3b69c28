//go:build linux

package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/signalbox/signalbox/test/history"
)

// A client process exchanges lines of JSON with the run over its standard input and output: reports go to the run,
// commands to the process.

// clientReport is a message from a client process.
type clientReport struct {
	Entry   *history.Entry `json:"entry,omitempty"`
	Write   *writeRequest  `json:"write,omitempty"`
	Stopped bool           `json:"stopped,omitempty"` // its programs have ended
}

// writeRequest asks for a write to the guarded store.
type writeRequest struct {
	Number    int               `json:"number"`
	Semaphore history.Semaphore `json:"semaphore"`
	Token     uint64            `json:"token"`
}

// command is a message to a client process.
type command struct {
	Start  *Assignment  `json:"start,omitempty"`
	Answer *writeAnswer `json:"answer,omitempty"`
	Stop   bool         `json:"stop,omitempty"`
	Close  bool         `json:"close,omitempty"`
}

// writeAnswer is the outcome of a write.
type writeAnswer struct {
	Number   int          `json:"number"`
	At       history.Time `json:"at"`
	Accepted bool         `json:"accepted"`
}

// pipe is the collector in a client process: it sends all reports to the run.
type pipe struct {
	mu      sync.Mutex // guards what follows
	out     *bufio.Writer
	lines   *json.Encoder
	next    int
	answers map[int]chan writeAnswer
}

func newPipe(w io.Writer) *pipe {
	out := bufio.NewWriter(w)
	return &pipe{out: out, lines: json.NewEncoder(out), answers: make(map[int]chan writeAnswer)}
}

// send sends a line. The line has left the process when send returns, so it arrives even if the process is killed.
func (p *pipe) send(r clientReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines.Encode(r) != nil || p.out.Flush() != nil {
		os.Exit(1) // the run is gone
	}
}

// Add implements workload.Collector.
func (p *pipe) Add(e history.Entry) { p.send(clientReport{Entry: &e}) }

// Write implements workload.Collector.
func (p *pipe) Write(of history.Semaphore, token uint64) (at history.Time, accepted bool) {
	answered := make(chan writeAnswer, 1)
	p.mu.Lock()
	p.next++
	n := p.next
	p.answers[n] = answered
	p.mu.Unlock()
	p.send(clientReport{Write: &writeRequest{n, of, token}})
	a := <-answered
	return a.At, a.Accepted
}

// answer passes the outcome of a write to its caller.
func (p *pipe) answer(a writeAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[a.Number] <- a
	delete(p.answers, a.Number)
}

// Serve is the main function of a client process. It returns when the client has closed, or the run has ended.
func Serve(in io.Reader, out io.Writer) error {
	p := newPipe(out)
	var w *workers
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var c command
		if err := lines.Decode(&c); err != nil {
			return fmt.Errorf("chaos: a client process lost its run: %w", err)
		}
		switch {
		case c.Start != nil:
			w = startWorkers(*c.Start, p)
		case c.Answer != nil:
			p.answer(*c.Answer)
		case c.Stop:
			go func() {
				w.StopPrograms()
				p.send(clientReport{Stopped: true})
			}()
		case c.Close:
			return w.close()
		}
	}
}
