package hosts

// DefaultWeight is the weight of a host that no operator has given a weight, MaxWeight the highest weight.
const (
	DefaultWeight = 100
	MaxWeight     = 1000
)

// The limits of the records. Every replica must agree on them, so they are constants.
const (
	// MaxHosts is the most hosts of a cluster, without expelled hosts, where each host has a copy of every shard.
	// MaxSpreadHosts is the most where a data shard has replicas on a part of the hosts.
	MaxHosts       = 9
	MaxSpreadHosts = 100
	// MaxExpelled is how many expelled hosts are remembered. If there are more, the host with the lowest id is
	// forgotten, except the latest expelled host. A forgotten host is refused as unknown.
	MaxExpelled = 1000
	// FirstReplica is the first id for a new replica. The replicas of a bootstrap have the ids of their hosts.
	FirstReplica = 1024
	// MaxShards is the most shards of a cluster, with the meta shard among them; MaxReplicas is the most records of
	// replicas that one shard may have, MaxSpreadReplicas the same where a cluster may have MaxSpreadHosts.
	MaxShards         = 257
	MaxReplicas       = 64
	MaxSpreadReplicas = 256
	// MaxName, MaxAddress, MaxVersion and MaxText are the longest name, address, version, and text for people, in
	// bytes.
	MaxName    = 256
	MaxAddress = 512
	MaxVersion = 64
	MaxText    = 256
	// MaxTokens is the most join tokens at once, MaxTokenID the longest id of a token, in bytes.
	MaxTokens  = 64
	MaxTokenID = 64
	// MaxTokenMillis is how long a join token is good for at the most.
	MaxTokenMillis = 7 * 24 * 3600 * 1000
	// MaxAudit is how many changes are remembered.
	MaxAudit = 10_000
)

// The back-off after which a silent host may be online again, in milliseconds. The back-off doubles with each
// failure, and begins anew after the host was online for HealthyMillis.
const (
	returnMillis    = 300
	maxReturnMillis = 10 * 60 * 1000
	HealthyMillis   = 10 * 60 * 1000
)

// WishMillis is how long the governor tries to carry out a transfer that an operator asked for.
const WishMillis = 60_000

// Spread reports whether a data shard has replicas on a part of the hosts: as many as the policy says, each a voter.
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
