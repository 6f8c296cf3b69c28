package rollout

// The limits of a rollout. Every replica must agree on them, so they are constants. What is beyond them is refused
// before it has any effect.
const (
	// MaxLocations is how many locations a rollout has.
	MaxLocations = 32
	// MaxInstances is how many instances have joined at once.
	MaxInstances = 65_536
	// MaxSources is how many sessions have the role of source at once.
	MaxSources = 16
	// MinKeep and MaxKeep bound how many versions are kept, and rows of a location's history.
	MinKeep = 4
	MaxKeep = 1024
	// MaxPayload is the longest payload of a version, MaxPayloads what the payloads that are kept have together, in
	// bytes.
	MaxPayload  = 64 << 10
	MaxPayloads = 4 << 20
	// MaxWord is the longest name of a location or of a gate, and the longest code of an error, in bytes.
	MaxWord = 64
	// MaxText is the longest name of an instance, label, author, reason and description of an error, in bytes.
	MaxText = 256
	// MaxAttributes is the longest that an instance says of itself, in bytes.
	MaxAttributes = 1024
	// MaxGates is how many gates a location has, MaxCodes how many codes of errors make a version be chosen again.
	MaxGates = 8
	MaxCodes = 16
	// MaxFailing is the most failing instances that a location may be allowed without a new choice.
	MaxFailing = 100
	// MaxAudit is how many acts a rollout remembers.
	MaxAudit = 64
	// MaxDelay is the longest delay, in milliseconds.
	MaxDelay = 30 * 24 * 3600 * 1000
	// MinAskInterval is the shortest time between two questions to the source, in milliseconds.
	MinAskInterval = 100
	// MaxNamed is how many instances a reason names.
	MaxNamed = 8
	// MaxLooked is how many instances are looked at to find those that a reason names.
	MaxLooked = 16_384
	// MaxPlanned is how many steps a dry run has.
	MaxPlanned = 4096
)

// What a rollout and an instance count for in a quota of bytes beside their own bytes: their places in memory.
const (
	// Bytes is for a rollout, InstanceBytes for an instance.
	Bytes         = 512
	InstanceBytes = 320
	locationBytes = 384
	versionBytes  = 160
	rowBytes      = 112
	actBytes      = 112
	smallBytes    = 64 // a gate, a source
	wordBytes     = 16
)
