package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/server/identity"
)

const (
	// askTimeout bounds how long one host is waited for. The leader may wait for a host to fall silent.
	askTimeout = fallsSilentWithin + 5*time.Second
	// pause is how long a host waits between rounds.
	pause = 250 * time.Millisecond
	// maxRedirects is how often one host after the other may name another one as the leader.
	maxRedirects = 2
)

// Call calls the host at an address with a request that is made for the connection, and returns its answer.
type Call func(ctx context.Context, address string, request func(Transcript) ([]byte, error)) (answer []byte,
	err error)

// Record is what a host must not forget of its joining. Each change is durable when the method returns; one that has
// failed may have been made. *identity.Directory implements it.
type Record interface {
	// KeepSecret keeps the secret of the cluster.
	KeepSecret(secret []byte) error
	// Join makes the host one of those of the cluster.
	Join(identity.Admission) error
}

// Newcomer is a host that wants to join.
type Newcomer struct {
	Ask Ask
	// Addresses are those of hosts of the cluster, any of them.
	Addresses []string
	// Token is nil where the host has none. Secret is that of the cluster, empty where the host was given none.
	Token  *Token
	Secret []byte
	Record Record
	Call   Call
	// Waits hears why the host was not let in at the first try. It may be nil.
	Waits func(why string)
}

// Refused is the error of a host that cannot join.
type Refused struct {
	// Address is that of the host which has said so.
	Address, Text string
}

// Error implements error.
func (r *Refused) Error() string {
	return "the cluster at " + r.Address + " does not let this host join: " + r.Text
}

// Runner makes a newcomer a host of the cluster.
type Runner struct {
	newcomer Newcomer
	awaited  atomic.Pointer[string]
}

// NewRunner returns one.
func NewRunner(n Newcomer) *Runner {
	r := &Runner{newcomer: n}
	r.note("it asks " + strings.Join(n.Addresses, ", ") + " to let it join")
	return r
}

// Awaited says what keeps the host from being of the cluster.
func (r *Runner) Awaited() string { return *r.awaited.Load() }

func (r *Runner) note(text string) { r.awaited.Store(&text) }

// Run asks until the host is of the cluster, and returns what it was granted. The error is a *Refused, that of the
// context, or of the directory.
func (r *Runner) Run(ctx context.Context) (Grant, error) {
	for first := true; ; first = false {
		var failures []string
		for _, address := range r.newcomer.Addresses {
			g, err := r.askAt(ctx, address)
			if err == nil {
				return g, r.keep(&g)
			}
			if refusal, ok := errors.AsType[*Refused](err); ok {
				return g, refusal
			}
			failures = append(failures, err.Error())
		}
		r.note("it waits to join: " + strings.Join(failures, "; "))
		if first && r.newcomer.Waits != nil {
			r.newcomer.Waits(strings.Join(failures, "; "))
		}
		select {
		case <-ctx.Done():
			return Grant{}, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// keep writes down what the host was granted. The secret comes first: where the host is of the cluster, it has it.
func (r *Runner) keep(g *Grant) error {
	if len(g.Secret) > 0 && len(r.newcomer.Secret) == 0 {
		if err := r.newcomer.Record.KeepSecret(g.Secret); err != nil {
			return err
		}
	}
	return r.newcomer.Record.Join(identity.Admission{
		Host: g.Host, Birth: g.Birth, Generation: g.Generation, Hosts: g.Hosts,
	})
}

// askAt asks the host at an address, and then the one that it names as the leader.
func (r *Runner) askAt(ctx context.Context, address string) (g Grant, err error) {
	for range 1 + maxRedirects {
		g, leader, err := r.ask(ctx, address)
		if err != nil || leader == "" {
			return g, err
		}
		address = leader
	}
	return g, fmt.Errorf("%s: the hosts do not agree on who leads them", address)
}

// ask asks one host. It returns the address of the leader where that is another one.
func (r *Runner) ask(ctx context.Context, address string) (g Grant, leader string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ask, err := json.Marshal(r.newcomer.Ask)
	if err != nil {
		return g, "", fmt.Errorf("join: %w", err)
	}
	var transcript Transcript
	text, err := r.newcomer.Call(ctx, address, func(t Transcript) ([]byte, error) {
		transcript = t
		return r.request(t, ask)
	})
	if err != nil {
		return g, "", err
	}
	var a answer
	if err := decode(text, &a); err != nil {
		return g, "", err
	}
	switch {
	case a.Refusal != "":
		return g, "", &Refused{address, a.Refusal}
	case len(a.Grant) > 0:
		g, err := transcript.open(r.newcomer.sealedUnder(), ask, a.Grant)
		return g, "", err
	case a.Leader != "":
		return g, a.Leader, nil
	}
	return g, "", fmt.Errorf("%s: %s", address, a.Later)
}

// request is an ask with its proofs.
func (r *Runner) request(t Transcript, ask []byte) (_ []byte, err error) {
	n, made := &r.newcomer, request{Ask: ask}
	if n.Token != nil {
		hash := n.Token.Hash()
		made.Token = n.Token.ID
		if made.TokenProof, err = t.prove(hash[:], tokenLabel, ask); err != nil {
			return nil, err
		}
	}
	if len(n.Secret) > 0 {
		if made.SecretProof, err = t.prove(n.Secret, secretLabel, ask); err != nil {
			return nil, err
		}
	}
	return json.Marshal(made)
}

// sealedUnder is what the grant is sealed under: see Desk.check.
func (n *Newcomer) sealedUnder() []byte {
	if n.Token != nil {
		hash := n.Token.Hash()
		return hash[:]
	}
	return n.Secret
}
