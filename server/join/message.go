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

// Ask is what a host that wants to join says of itself.
type Ask struct {
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	// ClusterName and Shards are what its settings say of the cluster; no shards where they say nothing.
	ClusterName string `json:"cluster_name,omitempty"`
	Shards      int    `json:"shards,omitempty"`
	// Raft, Client and Admin are where it will be reached.
	Raft   string `json:"raft"`
	Client string `json:"client"`
	Admin  string `json:"admin,omitempty"`
	// Domain is its failure domain, as host.ParseDomain reads it.
	Domain  string      `json:"failure_domain,omitempty"`
	Version string      `json:"version"`
	Level   level.Level `json:"level"`
	// Replace names the host whose place it takes, empty for none.
	Replace string `json:"replace,omitempty"`
}

// Grant is what a host that has joined needs to take part.
type Grant struct {
	Host       shard.HostID        `json:"host"`
	Birth      identity.Birth      `json:"birth"`
	Generation identity.Generation `json:"generation"`
	// Hosts are those of the cluster, this one among them, by id.
	Hosts []identity.Founder `json:"hosts"`
	// Secret is that of the cluster. It is only in a grant that is sealed for the holder of a join token.
	Secret []byte `json:"secret,omitempty"`
}

// request is an Ask on its way, with its proofs.
type request struct {
	Ask json.RawMessage `json:"join"`
	// Token is the id of the join token, empty where there is none.
	Token       string `json:"token,omitempty"`
	TokenProof  []byte `json:"token_proof,omitempty"`
	SecretProof []byte `json:"secret_proof,omitempty"`
}

// IsRequest reports whether a request of another host asks to join.
func IsRequest(payload []byte) bool { return bytes.HasPrefix(payload, []byte(`{"join":`)) }

// answer is one of four things.
type answer struct {
	// Grant is that of a host which belongs to the cluster now: the JSON of a Grant, sealed where there is a key.
	Grant []byte `json:"grant,omitempty"`
	// Leader is the address of the host to ask.
	Leader string `json:"leader,omitempty"`
	// Later is why there is no answer now.
	Later string `json:"later,omitempty"`
	// Refusal is why the host cannot join, with what to do instead.
	Refusal string `json:"refusal,omitempty"`
}

func later(format string, args ...any) answer   { return answer{Later: fmt.Sprintf(format, args...)} }
func refused(format string, args ...any) answer { return answer{Refusal: fmt.Sprintf(format, args...)} }

// decode reads a message of another host.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("join: no message: %w", err)
	}
	return nil
}
