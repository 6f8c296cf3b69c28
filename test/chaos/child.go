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

// A crew that has a process of its own speaks with the run over the process's standard input and output, in lines
// of JSON: said goes to the run, told to the process.

// said is what a crew's process says.
type said struct {
	Entry  *entry    `json:"entry,omitempty"`
	Write  *question `json:"write,omitempty"`
	Rested bool      `json:"rested,omitempty"`
}

// question asks for a write to the guarded store.
type question struct {
	Number    int               `json:"number"`
	Semaphore history.Semaphore `json:"semaphore"`
	Token     uint64            `json:"token"`
}

// told is what a crew's process is told.
type told struct {
	Orders *Orders `json:"orders,omitempty"`
	Answer *answer `json:"answer,omitempty"`
	Rest   bool    `json:"rest,omitempty"`
	Leave  bool    `json:"leave,omitempty"`
}

// answer is what became of a write.
type answer struct {
	Number   int          `json:"number"`
	At       history.Time `json:"at"`
	Accepted bool         `json:"accepted"`
}

// pipe is the listener of a crew in a process of its own.
type pipe struct {
	mu      sync.Mutex // guards what follows
	out     *bufio.Writer
	lines   *json.Encoder
	next    int
	answers map[int]chan answer
}

func newPipe(w io.Writer) *pipe {
	out := bufio.NewWriter(w)
	return &pipe{out: out, lines: json.NewEncoder(out), answers: make(map[int]chan answer)}
}

// say sends a line. It has left the process when say returns, so that it is known even if the process is killed.
func (p *pipe) say(s said) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines.Encode(s) != nil || p.out.Flush() != nil {
		os.Exit(1) // nobody listens any more
	}
}

func (p *pipe) take(e entry) { p.say(said{Entry: &e}) }

func (p *pipe) write(of history.Semaphore, token uint64) (at history.Time, accepted bool) {
	came := make(chan answer, 1)
	p.mu.Lock()
	p.next++
	n := p.next
	p.answers[n] = came
	p.mu.Unlock()
	p.say(said{Write: &question{n, of, token}})
	a := <-came
	return a.At, a.Accepted
}

func (p *pipe) answered(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[a.Number] <- a
	delete(p.answers, a.Number)
}

// Serve is the main function of a crew's process. It returns when the crew has left, or nobody is there any more
// to tell it to.
func Serve(in io.Reader, out io.Writer) error {
	p := newPipe(out)
	var x *crew
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var t told
		if err := lines.Decode(&t); err != nil {
			return fmt.Errorf("chaos: a crew hears of its run no more: %w", err)
		}
		switch {
		case t.Orders != nil:
			x = muster(*t.Orders, p)
		case t.Answer != nil:
			p.answered(*t.Answer)
		case t.Rest:
			go func() {
				x.rest()
				p.say(said{Rested: true})
			}()
		case t.Leave:
			x.leave()
			return nil
		}
	}
}
