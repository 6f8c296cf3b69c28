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

// Ask describes a newcomer.
type Ask struct {
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	// ClusterName and Shards are the newcomer's cluster settings; Shards is 0 if not set.
	ClusterName string `json:"cluster_name,omitempty"`
	Shards      int    `json:"shards,omitempty"`
	// Raft, Client and Admin are the newcomer's addresses.
	Raft   string `json:"raft"`
	Client string `json:"client"`
	Admin  string `json:"admin,omitempty"`
	// Domain is the newcomer's failure domain, in host.ParseDomain's notation.
	Domain  string      `json:"failure_domain,omitempty"`
	Version string      `json:"version"`
	Level   level.Level `json:"level"`
	// Replace names the host to replace, empty for none.
	Replace string `json:"replace,omitempty"`
}

// Grant contains everything a newly joined host needs to participate.
type Grant struct {
	Host       shard.HostID        `json:"host"`
	Bootstrap  identity.Bootstrap  `json:"bootstrap"`
	Generation identity.Generation `json:"generation"`
	// Hosts are the hosts in the cluster, including the new host, by id.
	Hosts []identity.InitialMember `json:"hosts"`
	// Secret is the cluster secret. Secret is set only in a grant that is sealed for a join token's holder.
	Secret []byte `json:"secret,omitempty"`
}

// request is an Ask on the wire, with its proofs.
type request struct {
	Ask json.RawMessage `json:"join"`
	// Token is the join token's id, empty without a token.
	Token       string `json:"token,omitempty"`
	TokenProof  []byte `json:"token_proof,omitempty"`
	SecretProof []byte `json:"secret_proof,omitempty"`
}

// IsRequest reports whether a remote host's request asks to join.
func IsRequest(payload []byte) bool { return bytes.HasPrefix(payload, []byte(`{"join":`)) }

// answer has exactly one field set.
type answer struct {
	// Grant is an admitted host's grant: a Grant as JSON, sealed if there is a key.
	Grant []byte `json:"grant,omitempty"`
	// Leader is the address of the host to ask instead.
	Leader string `json:"leader,omitempty"`
	// Later is the reason why the host has to ask again later.
	Later string `json:"later,omitempty"`
	// Refusal is the reason why the host cannot join, with a remedy.
	Refusal string `json:"refusal,omitempty"`
}

func later(format string, args ...any) answer   { return answer{Later: fmt.Sprintf(format, args...)} }
func refused(format string, args ...any) answer { return answer{Refusal: fmt.Sprintf(format, args...)} }

// decode decodes a remote host's message.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("invalid message: %w", err)
	}
	return nil
}
