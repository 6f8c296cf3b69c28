package protocol

import (
	"math"

	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/process"
)

// MinVersion and MaxVersion are the range of protocol versions this package supports.
const (
	MinVersion = 1
	MaxVersion = 1
)

// Maximum field lengths in bytes.
const (
	MaxNameBytes             = field.MaxName // name of a semaphore or another object; at least 1
	MaxViewBytes             = 256           // section name
	MaxRoleBytes             = 64            // a session's role in an object
	MaxPathBytes             = 1024          // node path; at least 1
	MaxSecretBytes           = 16            // session secret
	MaxClientIDBytes         = 16            // client id, for idempotent requests
	MaxIncarnationBytes      = 16            // incarnation of a host's data directory
	MaxDataBytes             = 1 << 20       // data of a semaphore, an owner or a waiter, however a host is configured
	MaxClientNameBytes       = 256
	MaxTraffic               = 20 // clients, and nodes, in a host's load
	MaxVersionBytes          = 64 // client or host version
	MaxTokenBytes            = 4096
	MaxAccessNameBytes       = 256 // role or token name
	MaxPrincipalBytes        = 300
	MaxForwardedBytes        = 128
	MaxMessageBytes          = 1024 // an answer's message for people
	MaxHostNameBytes         = 256
	MaxAddressBytes          = 512 // host address: name or number and port
	MaxClusterIDBytes        = 64
	MaxWordBytes             = 64   // location, gate, or error code
	MaxReasonBytes           = 4096 // why a rollout is stalled
	MaxRolloutTextBytes      = 256  // instance name, label, author, reason, error text
	MaxRolloutAttributeBytes = 1024
	MaxRolloutPayloadBytes   = 64 << 10        // a version's payload
	MaxProcessTextBytes      = process.MaxText // member name, author, reason
	MaxProcessAttributeBytes = process.MaxAttributes
	MaxProcessFailureBytes   = process.MaxFailure // why a member could not serve a request
	MaxProcessPayloadBytes   = process.MaxPayload // request, reply, result
	MaxOperatorTextBytes     = 256                // operator name, and reason
	MaxDomainBytes           = 1040               // failure domain: 8 labels with 64-byte keys and values
	MaxReportBytes           = 64 << 10           // commands a host reports to the meta shard
	MaxSubjectBytes          = 128                // subject of a governor step
	MaxHashBytes             = 32                 // hash of a secret or certificate
	MaxSlotBytes             = 9 << 20            // content of a slot that moves, between hosts
)

const (
	// DefaultDataBytes is the maximum data length on a host with default configuration.
	DefaultDataBytes = 64 << 10
	// FrameRoom is how many bytes a frame may have on top of its data.
	FrameRoom = 64 << 10
	// HelloFrameBytes is the longest payload a host reads from an unknown sender: a HELLO with the longest fields, and
	// a reserve for fields in later versions.
	HelloFrameBytes = 8 << 10
	// PageBytes is the size at which a host ends a page in a long list. The item that reaches the size is still part of
	// the page.
	PageBytes = 256 << 10
	// MaxPageItems is the maximum number of items on a page, whatever the request asks for.
	MaxPageItems = 1000
)

const (
	// Forever is the timeout for an acquire that waits as long as its session lives.
	Forever = math.MaxUint64
	// MaxAcquireWaitMillis bounds any other acquire timeout: a day.
	MaxAcquireWaitMillis = 24 * 60 * 60 * 1000
	// MaxHoldMillis bounds how long an operator can keep the governor from beginning a step: a day.
	MaxHoldMillis = 24 * 60 * 60 * 1000
	// MaxSessionTimeoutMillis bounds session timeouts: half an hour.
	MaxSessionTimeoutMillis = 30 * 60 * 1000
)

// SequencesPerAttach is how many sequences a session has above the base an attach allocates.
const SequencesPerAttach = 1 << 36

const (
	// Exclusive is the count for an acquire that does not share the semaphore. It is also the limit of ephemeral
	// semaphores.
	Exclusive = math.MaxUint64
	// Shared is the count for an acquire that shares an ephemeral semaphore with further Shared acquires.
	Shared = 1
)

// Limits are the limits in force on a host, for its Welcome.
type Limits struct {
	// RequestFrameBytes is the longest payload the host reads. The host closes the connection over a longer payload.
	RequestFrameBytes uint64
	// AnswerFrameBytes is the longest payload the host sends.
	AnswerFrameBytes uint64
	// DataBytes is the maximum data length for a semaphore, an owner or a waiter.
	DataBytes uint64
	// RequestsInFlight is the maximum number of unanswered requests on a connection.
	RequestsInFlight uint64
	// Watches is the maximum number of open watches, one-shot and streaming, on a connection.
	Watches uint64
}

// FrameLimits returns the frame and data limits for a host that allows the given data length. A rollout version's
// payload, and a process payload, fit in a frame whatever the host allows.
func FrameLimits(dataBytes uint64) Limits {
	longest := max(dataBytes, MaxRolloutPayloadBytes, MaxProcessPayloadBytes)
	return Limits{
		RequestFrameBytes: longest + FrameRoom,
		// PageBytes may be exceeded by one item; a page also carries the semaphore's data.
		AnswerFrameBytes: PageBytes + 2*longest + FrameRoom,
		DataBytes:        dataBytes,
	}
}
