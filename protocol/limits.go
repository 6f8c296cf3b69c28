package protocol

import (
	"math"

	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/process"
)

// MinVersion and MaxVersion bound the protocol versions that this package speaks.
const (
	MinVersion = 1
	MaxVersion = 1
)

// The most bytes that a field may have.
const (
	MaxNameBytes             = field.MaxName // of a semaphore or another object; at least 1
	MaxViewBytes             = 256           // of the name of a section of an object
	MaxRoleBytes             = 64            // of a session's role in an object
	MaxPathBytes             = 1024          // of a node; at least 1
	MaxSecretBytes           = 16            // of a session
	MaxClientIDBytes         = 16            // of a client, for idempotent requests
	MaxIncarnationBytes      = 16            // of a host's data directory
	MaxDataBytes             = 1 << 20       // of a semaphore, an owner or a waiter, however a host is configured
	MaxClientNameBytes       = 256
	MaxVersionBytes          = 64 // of a client's or a host's version
	MaxTokenBytes            = 4096
	MaxAccessNameBytes       = 256 // of a role or a token
	MaxPrincipalBytes        = 300
	MaxForwardedBytes        = 128
	MaxMessageBytes          = 1024 // of an answer's message for people
	MaxHostNameBytes         = 256
	MaxAddressBytes          = 512 // of a host: name or number and port
	MaxClusterIDBytes        = 64
	MaxWordBytes             = 64   // of a location, a gate, or the code of an error
	MaxReasonBytes           = 4096 // of why a rollout does not move
	MaxRolloutTextBytes      = 256  // of an instance's name, a label, an author, a reason, the text of an error
	MaxRolloutAttributeBytes = 1024
	MaxRolloutPayloadBytes   = 64 << 10        // of a version
	MaxProcessTextBytes      = process.MaxText // of a member's name, an author, a reason
	MaxProcessAttributeBytes = process.MaxAttributes
	MaxProcessFailureBytes   = process.MaxFailure // of why a member could not serve a request
	MaxProcessPayloadBytes   = process.MaxPayload // of a request, a reply, a result
	MaxOperatorTextBytes     = 256                // of an operator's name, and of a reason
	MaxDomainBytes           = 1040               // of a failure domain: 8 labels of 64 bytes and 64
	MaxReportBytes           = 64 << 10           // of the commands that a host reports to the meta shard
	MaxSubjectBytes          = 128                // of the subject of a governor's step
	MaxHashBytes             = 32                 // of a secret or a certificate
)

const (
	// DefaultDataBytes is the most bytes that data may have on a host that is not configured otherwise.
	DefaultDataBytes = 64 << 10
	// FrameRoom is what a frame may have on top of the data in it.
	FrameRoom = 64 << 10
	// HelloFrameBytes is the longest payload that a host reads from an unknown sender: a HELLO with the longest fields,
	// and room for fields of later versions.
	HelloFrameBytes = 8 << 10
	// PageBytes is the size at which a host ends a page of a long list. The item that reaches the size is still part of
	// the page.
	PageBytes = 256 << 10
	// MaxPageItems is the most items in a page, whatever the request says.
	MaxPageItems = 1000
)

const (
	// Forever is the timeout of an acquire that waits as long as its session lives.
	Forever = math.MaxUint64
	// MaxAcquireWaitMillis bounds the timeout of any other acquire: a day.
	MaxAcquireWaitMillis = 24 * 60 * 60 * 1000
	// MaxHoldMillis bounds for how long an operator keeps the governor from beginning a step: a day.
	MaxHoldMillis = 24 * 60 * 60 * 1000
	// MaxSessionTimeoutMillis bounds the timeout of a session: half an hour.
	MaxSessionTimeoutMillis = 30 * 60 * 1000
)

// SequencesPerAttach is how many sequences a session has above the base that an attach allocates for the session.
const SequencesPerAttach = 1 << 36

const (
	// Exclusive is the count of an acquire that shares a semaphore with no other acquire. It is also the limit of
	// ephemeral semaphores.
	Exclusive = math.MaxUint64
	// Shared is the count of an acquire that shares an ephemeral semaphore with further acquires of count Shared.
	Shared = 1
)

// Limits are the limits in force on a host, for its Welcome.
type Limits struct {
	// RequestFrameBytes is the longest payload that the host reads. The host closes the connection over a longer
	// payload.
	RequestFrameBytes uint64
	// AnswerFrameBytes is the longest payload that the host sends.
	AnswerFrameBytes uint64
	// DataBytes is the longest data of a semaphore, an owner or a waiter.
	DataBytes uint64
	// RequestsInFlight is how many requests may be unanswered on a connection.
	RequestsInFlight uint64
	// Watches is how many watches, one-shot and streaming, may be open on a connection.
	Watches uint64
}

// FrameLimits returns the limits on frames and data of a host that allows so many bytes of data. The payload of a
// rollout's version, and of a process, fits in a frame whatever the host allows.
func FrameLimits(dataBytes uint64) Limits {
	longest := max(dataBytes, MaxRolloutPayloadBytes, MaxProcessPayloadBytes)
	return Limits{
		RequestFrameBytes: longest + FrameRoom,
		// A page with an item that passed PageBytes, and the data of the semaphore of the page.
		AnswerFrameBytes: PageBytes + 2*longest + FrameRoom,
		DataBytes:        dataBytes,
	}
}
