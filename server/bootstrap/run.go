package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/server/peerrpc"
)

const (
	// askTimeout is the maximum time to wait per host in a round.
	askTimeout = time.Second
	// pause is the wait between rounds.
	pause = 100 * time.Millisecond
)

// Runner exchanges messages between an initializer and the other hosts.
type Runner struct {
	initializer *Initializer
	secret      []byte
	call        peerrpc.CallUnnamed
	heard       chan struct{} // signalled after a new host has asked
	awaited     atomic.Pointer[string]
}

// NewRunner returns a Runner that sends asks through call. The cluster secret may be empty. Answer may be called
// immediately.
func NewRunner(c *Initializer, secret []byte, call peerrpc.CallUnnamed) *Runner {
	r := &Runner{initializer: c, secret: secret, call: call, heard: make(chan struct{}, 1)}
	r.note(nil, nil)
	return r
}

// Answer answers another host's request on a connection. Safe for concurrent use.
func (r *Runner) Answer(t peerrpc.Transcript, request []byte) ([]byte, error) {
	c := channel{t, r.secret}
	var ask Ask
	if err := c.decode(askLabel, request, &ask); err != nil {
		return nil, err
	}
	answer, news := r.initializer.HandleAsk(ask)
	if news {
		select {
		case r.heard <- struct{}{}:
		default:
		}
	}
	return c.encode(answerLabel, answer)
}

// Run asks the other hosts until the host is bootstrapped, and then returns nil. Otherwise Run returns the error from
// the context or from Conclude.
func (r *Runner) Run(ctx context.Context) error {
	for {
		answers, failures := r.ask(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		bootstrapped, err := r.initializer.Conclude(answers)
		if bootstrapped || err != nil {
			return err
		}
		r.note(answers, failures)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.heard:
		case <-time.After(pause):
		}
	}
}

// Awaited explains why the host is not bootstrapped yet.
func (r *Runner) Awaited() string { return *r.awaited.Load() }

func (r *Runner) note(answers map[string]Answer, failures map[string]error) {
	text := r.initializer.Awaited(answers, failures)
	r.awaited.Store(&text)
}

// ask asks all other hosts concurrently, and returns their answers or failures by host name.
func (r *Runner) ask(ctx context.Context) (answers map[string]Answer, failures map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ask := r.initializer.Ask()
	answers, failures = make(map[string]Answer), make(map[string]error)
	var mu sync.Mutex // guards both
	var asked sync.WaitGroup
	for _, p := range ask.Plan.Hosts {
		if p.Name == ask.Name {
			continue
		}
		asked.Go(func() {
			answer, err := r.askOne(ctx, p, ask)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				answers[p.Name] = answer
			} else {
				failures[p.Name] = cause(err)
			}
		})
	}
	asked.Wait()
	return answers, failures
}

// cause returns the innermost error, because the message already contains the address.
func cause(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// askOne asks the host at an address in the list.
func (r *Runner) askOne(ctx context.Context, p InitialHost, ask Ask) (answer Answer, err error) {
	c := channel{secret: r.secret}
	text, err := r.call(ctx, p.Raft, func(t peerrpc.Transcript) ([]byte, error) {
		c.transcript = t
		return c.encode(askLabel, ask)
	})
	if err != nil {
		return answer, err
	}
	err = c.decode(answerLabel, text, &answer)
	if err == nil && answer.Name != p.Name {
		answer = Answer{Name: p.Name, Refusal: fmt.Sprintf("at %s is host %q", p.Raft, answer.Name)}
	}
	return answer, err
}
