package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Ask describes a host that waits to bootstrap.
type Ask struct {
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	Plan        Plan              `json:"plan"`
}

// Answer describes the answering host. A bootstrapped host omits its plan.
type Answer struct {
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	// Promise is the decider's incarnation to which the host has promised itself.
	Promise hosts.Incarnation `json:"promise"`
	// Bootstrap is the bootstrap record of the host's cluster, nil if the host is in no cluster.
	Bootstrap *identity.Bootstrap `json:"bootstrap,omitempty"`
	// Refusal is the reason for refusing to bootstrap with the asking host, empty if the host agrees.
	Refusal string `json:"refusal,omitempty"`
}

// member returns the answer for a host in a cluster.
func member(id *identity.Identity) Answer {
	bootstrap := id.Bootstrap
	return Answer{Name: id.HostName, Incarnation: id.Incarnation, Bootstrap: &bootstrap}
}

// AnswerAsMember answers another host's ask on behalf of a host in a cluster. The secret may be empty.
func AnswerAsMember(t peerrpc.Transcript, secret []byte, id *identity.Identity, request []byte) ([]byte, error) {
	c := channel{t, secret}
	if err := c.decode(askLabel, request, new(Ask)); err != nil {
		return nil, err
	}
	return c.encode(answerLabel, member(id))
}

// sealed is a message on the wire. If the hosts share a secret, the proof shows that the sender has the secret.
type sealed struct {
	Body  json.RawMessage `json:"bootstrap"`
	Proof []byte          `json:"proof,omitempty"`
}

// ErrSecret reports that the other host has a different cluster secret, or none.
var ErrSecret = errors.New("bootstrap: the other host has another cluster secret")

// The labels keep an ask's proof from being accepted for an answer, and the reverse.
const (
	askLabel    = "signalbox bootstrap ask"
	answerLabel = "signalbox bootstrap answer"
)

// IsAsk reports whether another host's request is an ask.
func IsAsk(request []byte) bool { return bytes.HasPrefix(request, []byte(`{"bootstrap":`)) }

// channel is a connection for a single ask and its answer, between hosts with the same secret. An empty secret means
// no proofs.
type channel struct {
	transcript peerrpc.Transcript
	secret     []byte
}

// encode returns a message in wire format.
func (c channel) encode(label string, message any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	s := sealed{Body: body}
	if len(c.secret) > 0 {
		if s.Proof, err = c.transcript.Prove(c.secret, label, body); err != nil {
			return nil, fmt.Errorf("bootstrap: %w", err)
		}
	}
	return json.Marshal(s)
}

// decode reads the output of encode.
func (c channel) decode(label string, text []byte, message any) error {
	var s sealed
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("bootstrap: invalid message: %w", err)
	}
	has := len(s.Proof) > 0
	if has != (len(c.secret) > 0) || has && !c.transcript.Proves(c.secret, label, s.Body, s.Proof) {
		return ErrSecret
	}
	if err := json.Unmarshal(s.Body, message); err != nil {
		return fmt.Errorf("bootstrap: invalid message: %w", err)
	}
	return nil
}
