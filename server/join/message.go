package join

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Ask is a newcomer's statement about itself.
type Ask struct {
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	// ClusterName and Shards are the newcomer's settings about the cluster; zero shards if the settings do not say.
	ClusterName string `json:"cluster_name,omitempty"`
	Shards      int    `json:"shards,omitempty"`
	// Raft, Client and Admin are the addresses of the newcomer.
	Raft   string `json:"raft"`
	Client string `json:"client"`
	Admin  string `json:"admin,omitempty"`
	// Domain is the newcomer's failure domain, in the notation of host.ParseDomain.
	Domain  string      `json:"failure_domain,omitempty"`
	Version string      `json:"version"`
	Level   level.Level `json:"level"`
	// Replace names the host that the newcomer replaces, empty for none.
	Replace string `json:"replace,omitempty"`
}

// Grant is everything a newly joined host needs to take part.
type Grant struct {
	Host       shard.HostID        `json:"host"`
	Bootstrap  identity.Bootstrap  `json:"bootstrap"`
	Generation identity.Generation `json:"generation"`
	// Hosts are the hosts of the cluster, the new host among them, by id.
	Hosts []identity.InitialMember `json:"hosts"`
	// Secret is the secret of the cluster. Only a grant sealed for the holder of a join token has the secret.
	Secret []byte `json:"secret,omitempty"`
}

// request is an Ask on the wire, with its proofs.
type request struct {
	Ask json.RawMessage `json:"join"`
	// Token is the id of the join token, empty without a token.
	Token       string `json:"token,omitempty"`
	TokenProof  []byte `json:"token_proof,omitempty"`
	SecretProof []byte `json:"secret_proof,omitempty"`
}

// IsRequest reports whether a request of another host asks to join.
func IsRequest(payload []byte) bool { return bytes.HasPrefix(payload, []byte(`{"join":`)) }

// answer has a single field set.
type answer struct {
	// Grant is the grant of an admitted host: the JSON of a Grant, sealed if there is a key.
	Grant []byte `json:"grant,omitempty"`
	// Leader is the address of the host to ask.
	Leader string `json:"leader,omitempty"`
	// Later is why the host has to ask again later.
	Later string `json:"later,omitempty"`
	// Refusal is why the host cannot join, with the way out.
	Refusal string `json:"refusal,omitempty"`
}

func later(format string, args ...any) answer   { return answer{Later: fmt.Sprintf(format, args...)} }
func refused(format string, args ...any) answer { return answer{Refusal: fmt.Sprintf(format, args...)} }

// decode reads a message of another host.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("no message: %w", err)
	}
	return nil
}
