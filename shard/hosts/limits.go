package hosts

import "github.com/signalbox/signalbox/shard"

// DefaultWeight is the weight of a host without an operator-set weight, MaxWeight the highest weight.
const (
	DefaultWeight = 100
	MaxWeight     = 1000
)

// Limits on the records. They are constants because every replica must agree on them.
const (
	// MaxHosts is the maximum number of hosts in a cluster, without expelled hosts, if each host has a replica of every
	// shard. MaxSpreadHosts is the maximum if data shards have replicas on only some hosts.
	MaxHosts       = 9
	MaxSpreadHosts = 100
	// MaxExpelled is how many expelled hosts are remembered. If there are more, the host with the lowest id is
	// discarded, except the latest expelled host. A discarded host is refused as unknown.
	MaxExpelled = 1000
	// FirstReplica is the first id for a new replica. Bootstrap replicas have their hosts' ids.
	FirstReplica = 1024
	// MaxShards is the maximum number of shards in a cluster, including the meta shard; MaxReplicas is the maximum
	// number of replica records per shard, MaxSpreadReplicas the same if a cluster may have MaxSpreadHosts.
	MaxShards         = 257
	MaxReplicas       = 64
	MaxSpreadReplicas = 256
	// MaxName, MaxAddress, MaxVersion and MaxText are the maximum lengths of a name, address, version, and text for
	// people, in bytes.
	MaxName    = 256
	MaxAddress = 512
	MaxVersion = 64
	MaxText    = 256
	// MaxTokens is the maximum number of join tokens at once, MaxTokenID the maximum token id length, in bytes.
	MaxTokens  = 64
	MaxTokenID = 64
	// MaxTokenMillis is the maximum validity of a join token.
	MaxTokenMillis = 7 * 24 * 3600 * 1000
	// MaxSlotOrders is the maximum number of orders to move slots: one per slot.
	MaxSlotOrders = shard.Slots
	// MaxAudit is how many audit entries are kept.
	MaxAudit = 10_000
)

// The back-off before a silent host may be online again, in milliseconds. It doubles with each failure, and restarts
// after the host was online for HealthyMillis.
const (
	returnMillis    = 300
	maxReturnMillis = 10 * 60 * 1000
	HealthyMillis   = 10 * 60 * 1000
)

// After SlotAttempts failed attempts to move a slot, the next attempt waits for SlotDelayMillis.
const (
	SlotAttempts    = 2
	SlotDelayMillis = 10 * 60 * 1000
)

// WishMillis is how long the governor tries to carry out a transfer an operator asked for.
const WishMillis = 60_000

// Spread reports whether data shards have replicas on only some hosts: as many as the policy requires, each a voter.
func (r *Records) Spread() bool { return r.policy.Replicas != 0 }

func (r *Records) mostHosts() int {
	if r.Spread() {
		return MaxSpreadHosts
	}
	return MaxHosts
}

func (r *Records) mostReplicas() int {
	if r.Spread() {
		return MaxSpreadReplicas
	}
	return MaxReplicas
}
