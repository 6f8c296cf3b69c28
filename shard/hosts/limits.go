package hosts

// The limits of the records. Every replica must agree on them, so they are constants.
const (
	// MaxHosts is how many hosts a cluster has that are not expelled: each has a copy of every shard.
	MaxHosts = 9
	// MaxExpelled is how many expelled hosts are remembered. Beyond it the one with the lowest id is forgotten, of
	// those before the latest: it is then refused as unknown.
	MaxExpelled = 1000
	// FirstReplica is the first id that is given to a replica. Those of a birth have the ids of their hosts.
	FirstReplica = 1024
	// MaxShards is how many shards there are, the meta shard among them; MaxReplicas is how many records of replicas
	// one of them has.
	MaxShards   = 257
	MaxReplicas = 64
	// MaxName, MaxAddress, MaxVersion and MaxText are the longest name, address, version, and text for people, in
	// bytes.
	MaxName    = 256
	MaxAddress = 512
	MaxVersion = 64
	MaxText    = 256
	// MaxTokens is how many join tokens there are at once, MaxTokenID the longest id of one, in bytes.
	MaxTokens  = 64
	MaxTokenID = 64
	// MaxTokenMillis is how long a join token is good for at the most.
	MaxTokenMillis = 7 * 24 * 3600 * 1000
	// MaxAudit is how many changes are remembered.
	MaxAudit = 10_000
)

// The back-off after which a host that was silent may be online again, in milliseconds. It doubles with each failure,
// and begins anew for a host that was online for HealthyMillis.
const (
	returnMillis    = 300
	maxReturnMillis = 10 * 60 * 1000
	HealthyMillis   = 10 * 60 * 1000
)

// WishMillis is how long the governor tries to carry out a transfer that an operator asked for.
const WishMillis = 60_000
