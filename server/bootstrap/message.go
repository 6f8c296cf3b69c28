package bootstrap

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Ask is a waiting host's statement about itself.
type Ask struct {
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	Plan        Plan              `json:"plan"`
	// Nonce ties the proof of the answer to the ask.
	Nonce []byte `json:"nonce"`
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

// Member is the answer of a host in a cluster.
func Member(id *identity.Identity) Answer {
	bootstrap := id.Bootstrap
	return Answer{Name: id.HostName, Incarnation: id.Incarnation, Bootstrap: &bootstrap}
}

// sealed is a message on the wire. If the hosts share a secret, the proof shows the sender's possession of the
// secret.
type sealed struct {
	Body  json.RawMessage `json:"bootstrap"`
	Proof []byte          `json:"proof,omitempty"`
}

// ErrSecret: the other host has a different secret of the cluster, or none.
var ErrSecret = errors.New("bootstrap: the other host does not have the secret of this one")

// Codec writes messages, and reads messages of hosts with an equal secret. The zero Codec has no secret.
type Codec struct{ Secret []byte }

// The labels keep a proof of an ask from counting as a proof of an answer, and the reverse.
const (
	askLabel    = "signalbox bootstrap ask\x00"
	answerLabel = "signalbox bootstrap answer\x00"
)

// IsAsk reports whether a request of another host is an ask.
func IsAsk(request []byte) bool { return bytes.HasPrefix(request, []byte(`{"bootstrap":`)) }

// EncodeAsk draws a nonce, and returns the request with the nonce for the proof of the answer.
func (c Codec) EncodeAsk(ask Ask) (request, nonce []byte, err error) {
	ask.Nonce = []byte(rand.Text())
	request, err = c.seal(askLabel, nil, ask)
	return request, ask.Nonce, err
}

// DecodeAsk reads a request.
func (c Codec) DecodeAsk(request []byte) (ask Ask, err error) {
	return ask, c.open(askLabel, nil, request, &ask)
}

// EncodeAnswer returns the answer to an ask with the given nonce.
func (c Codec) EncodeAnswer(nonce []byte, answer Answer) ([]byte, error) {
	return c.seal(answerLabel, nonce, answer)
}

// DecodeAnswer reads the answer to an ask with the given nonce.
func (c Codec) DecodeAnswer(nonce, text []byte) (answer Answer, err error) {
	return answer, c.open(answerLabel, nonce, text, &answer)
}

func (c Codec) seal(label string, nonce []byte, message any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	return json.Marshal(sealed{body, c.proof(label, nonce, body)})
}

func (c Codec) open(label string, nonce, text []byte, message any) error {
	var s sealed
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("bootstrap: no message: %w", err)
	}
	if !hmac.Equal(s.Proof, c.proof(label, nonce, s.Body)) {
		return ErrSecret
	}
	if err := json.Unmarshal(s.Body, message); err != nil {
		return fmt.Errorf("bootstrap: no message: %w", err)
	}
	return nil
}

// proof is a proof that only a host with the secret can make for a message; nil without a secret.
func (c Codec) proof(label string, nonce, body []byte) []byte {
	if len(c.Secret) == 0 {
		return nil
	}
	mac := hmac.New(sha256.New, c.Secret)
	mac.Write([]byte(label))
	mac.Write(nonce)
	mac.Write([]byte{0})
	mac.Write(body)
	return mac.Sum(nil)
}
