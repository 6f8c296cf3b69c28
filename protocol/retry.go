package protocol

import "strconv"

// Retry says what to do with a request that was not carried out.
type Retry uint8

const (
	// RetryNever: the outcome is final; the same request would have it again.
	RetryNever Retry = 0
	// RetrySame: send the same request again, a mutation under the same number; if the connection is
	// gone, over another one.
	RetrySame Retry = 1
	// RetryElsewhere: send the same request, a mutation under the same number, to the host that the
	// answer names.
	RetryElsewhere Retry = 2
	// RetryLater: send the same request again, a mutation under the same number, after the wait that the
	// answer asks for.
	RetryLater Retry = 3
	// RetryRenumbered: send the mutation again under a new number.
	RetryRenumbered Retry = 4
)

var retryNames = [...]string{
	RetryNever:      "NEVER",
	RetrySame:       "SAME",
	RetryElsewhere:  "ELSEWHERE",
	RetryLater:      "LATER",
	RetryRenumbered: "RENUMBERED",
}

// String returns the class as the docs write it.
func (r Retry) String() string {
	if int(r) < len(retryNames) {
		return retryNames[r]
	}
	return "RETRY_" + strconv.Itoa(int(r))
}

// Retry returns what to do with a request that got this status. A status that is not known here is final:
// whether it is safe to send the request again cannot be known.
func (s Status) Retry() Retry {
	switch s {
	case StatusUnavailable, StatusTimeout:
		return RetrySame
	case StatusMoved:
		return RetryElsewhere
	case StatusOverloaded, StatusStorageFull:
		return RetryLater
	case StatusStale:
		return RetryRenumbered
	default:
		return RetryNever
	}
}
