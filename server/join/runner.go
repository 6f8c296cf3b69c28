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
	"github.com/signalbox/signalbox/server/peerrpc"
)

const (
	// askTimeout is the time limit for asking one host. The leader may wait for the replaced host to fall silent.
	askTimeout = fallsSilentWithin + 5*time.Second
	// pause is the wait between rounds.
	pause = 250 * time.Millisecond
	// maxRedirects is how many times in a row hosts may redirect to another leader.
	maxRedirects = 2
)

// Record is a join's durable state. A change is durable when the method returns; a failed change may also have been
// made. *identity.Directory implements Record.
type Record interface {
	// KeepSecret stores the cluster secret.
	KeepSecret(secret []byte) error
	// Join makes the host a member of the cluster.
	Join(identity.Admission) error
}

// Newcomer is a host that asks to join.
type Newcomer struct {
	Ask Ask
	// Addresses are addresses of some hosts in the cluster.
	Addresses []string
	// Token is nil without a token. Secret is the cluster secret, empty if the host was not given one.
	Token  *Token
	Secret []byte
	Record Record
	Call   peerrpc.CallUnnamed
	// Waits is called with the reason if the host was not admitted at the first try. Waits may be nil.
	Waits func(why string)
}

// Refused is the error for a host that cannot join.
type Refused struct {
	// Address is the refusing host's address.
	Address, Text string
}

// Error implements error.
func (r *Refused) Error() string {
	return "the cluster at " + r.Address + " rejects the host: " + r.Text
}

// Runner makes a newcomer a member of the cluster.
type Runner struct {
	newcomer Newcomer
	awaited  atomic.Pointer[string]
}

// NewRunner returns a Runner.
func NewRunner(n Newcomer) *Runner {
	r := &Runner{newcomer: n}
	r.note("asking " + strings.Join(n.Addresses, ", ") + " to join")
	return r
}

// Awaited returns why the host is not in the cluster yet.
func (r *Runner) Awaited() string { return *r.awaited.Load() }

func (r *Runner) note(text string) { r.awaited.Store(&text) }

// Run asks until the host is in the cluster, and returns the grant. The error is a *Refused, or from the context or
// the directory.
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
		r.note("waiting to join: " + strings.Join(failures, "; "))
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

// keep saves the grant. The secret is saved first, so that a host in the cluster always has it.
func (r *Runner) keep(g *Grant) error {
	if len(g.Secret) > 0 && len(r.newcomer.Secret) == 0 {
		if err := r.newcomer.Record.KeepSecret(g.Secret); err != nil {
			return err
		}
	}
	return r.newcomer.Record.Join(identity.Admission{
		Host: g.Host, Bootstrap: g.Bootstrap, Generation: g.Generation, Hosts: g.Hosts,
	})
}

// askAt asks the host at an address, and then the leader named in the answer.
func (r *Runner) askAt(ctx context.Context, address string) (g Grant, err error) {
	for range 1 + maxRedirects {
		g, leader, err := r.ask(ctx, address)
		if err != nil || leader == "" {
			return g, err
		}
		address = leader
	}
	return g, fmt.Errorf("%s: the hosts disagree about the leader", address)
}

// ask asks one host. leader is the leader's address, if the asked host is not the leader.
func (r *Runner) ask(ctx context.Context, address string) (g Grant, leader string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ask, err := json.Marshal(r.newcomer.Ask)
	if err != nil {
		return g, "", err
	}
	var transcript peerrpc.Transcript
	text, err := r.newcomer.Call(ctx, address, func(t peerrpc.Transcript) ([]byte, error) {
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
		g, err := open(transcript, r.newcomer.sealedUnder(), ask, a.Grant)
		return g, "", err
	case a.Leader != "":
		return g, a.Leader, nil
	}
	return g, "", fmt.Errorf("%s: %s", address, a.Later)
}

// request returns an ask with its proofs.
func (r *Runner) request(t peerrpc.Transcript, ask []byte) (_ []byte, err error) {
	n, made := &r.newcomer, request{Ask: ask}
	if n.Token != nil {
		hash := n.Token.Hash()
		made.Token = n.Token.ID
		if made.TokenProof, err = t.Prove(hash[:], tokenLabel, ask); err != nil {
			return nil, err
		}
	}
	if len(n.Secret) > 0 {
		if made.SecretProof, err = t.Prove(n.Secret, secretLabel, ask); err != nil {
			return nil, err
		}
	}
	return json.Marshal(made)
}

// sealedUnder returns the secret from which the grant's key is derived: see Server.check.
func (n *Newcomer) sealedUnder() []byte {
	if n.Token != nil {
		hash := n.Token.Hash()
		return hash[:]
	}
	return n.Secret
}
