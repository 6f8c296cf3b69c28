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

// Ask is a waiting host's statement about itself.
type Ask struct {
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	Plan        Plan              `json:"plan"`
}

// Answer is a host's statement about itself. A bootstrapped host does not speak of its plan.
type Answer struct {
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	// Promise is the decider to whom the host has promised itself.
	Promise hosts.Incarnation `json:"promise"`
	// Bootstrap is the bootstrap of the host's cluster, nil for a host in no cluster.
	Bootstrap *identity.Bootstrap `json:"bootstrap,omitempty"`
	// Refusal is why the host does not want to bootstrap with the asking host; empty if the host does.
	Refusal string `json:"refusal,omitempty"`
}

// member is the answer of a host in a cluster.
func member(id *identity.Identity) Answer {
	bootstrap := id.Bootstrap
	return Answer{Name: id.HostName, Incarnation: id.Incarnation, Bootstrap: &bootstrap}
}

// AnswerAsMember answers the ask of another host on a connection for a host in a cluster. The secret may be empty.
func AnswerAsMember(t peerrpc.Transcript, secret []byte, id *identity.Identity, request []byte) ([]byte, error) {
	c := channel{t, secret}
	if err := c.decode(askLabel, request, new(Ask)); err != nil {
		return nil, err
	}
	return c.encode(answerLabel, member(id))
}

// sealed is a message on the wire. If the hosts share a secret, the proof shows the sender's possession of the
// secret.
type sealed struct {
	Body  json.RawMessage `json:"bootstrap"`
	Proof []byte          `json:"proof,omitempty"`
}

// ErrSecret: the other host has a different secret of the cluster, or none.
var ErrSecret = errors.New("bootstrap: the other host does not have the secret of this one")

// The labels keep a proof of an ask from counting as a proof of an answer, and the reverse.
const (
	askLabel    = "signalbox bootstrap ask"
	answerLabel = "signalbox bootstrap answer"
)

// IsAsk reports whether a request of another host is an ask.
func IsAsk(request []byte) bool { return bytes.HasPrefix(request, []byte(`{"bootstrap":`)) }

// channel is a connection with a single ask and its answer, between hosts with an equal secret; empty for no secret.
type channel struct {
	transcript peerrpc.Transcript
	secret     []byte
}

// encode returns a message in the form for the wire.
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
		return fmt.Errorf("bootstrap: no message: %w", err)
	}
	has := len(s.Proof) > 0
	if has != (len(c.secret) > 0) || has && !c.transcript.Proves(c.secret, label, s.Body, s.Proof) {
		return ErrSecret
	}
	if err := json.Unmarshal(s.Body, message); err != nil {
		return fmt.Errorf("bootstrap: no message: %w", err)
	}
	return nil
}
