package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// knownStatuses returns all named statuses, in ascending order.
func knownStatuses() []Status {
	var statuses []Status
	for s := range Status(255) {
		if !strings.HasPrefix(s.String(), "STATUS_") {
			statuses = append(statuses, s)
		}
	}
	return statuses
}

// TestStatusNumbersAreStable: deployed programs use the numbers on the wire: a change breaks the programs.
func TestStatusNumbersAreStable(t *testing.T) {
	want := []string{
		"SUCCESS", "BAD_REQUEST", "UNAUTHORIZED", "NOT_FOUND", "ALREADY_EXISTS", "PRECONDITION_FAILED",
		"ABORTED", "FENCED", "BAD_SESSION", "SESSION_EXPIRED", "STALE", "MOVED", "UNAVAILABLE",
		"OVERLOADED", "STORAGE_FULL", "UNSUPPORTED", "HEARTBEAT_TIMEOUT", "INTERNAL", "QUOTA_EXCEEDED",
		"SEQUENCE_REUSED",
	}
	for i, name := range want {
		if got := Status(i).String(); got != name {
			t.Errorf("status %d is %s, want %s", i, got, name)
		}
	}
	if got := len(knownStatuses()); got != len(want) {
		t.Errorf("%d statuses are known, want %d", got, len(want))
	}
}

func TestEveryStatusHasItsSentinel(t *testing.T) {
	sentinels := []error{
		ErrBadRequest, ErrUnauthorized, ErrNotFound, ErrAlreadyExists, ErrPreconditionFailed, ErrAborted,
		ErrFenced, ErrBadSession, ErrSessionExpired, ErrStale, ErrMoved, ErrUnavailable, ErrOverloaded,
		ErrStorageFull, ErrUnsupported, ErrTimeout, ErrInternal, ErrQuotaExceeded, ErrSequenceReused,
	}
	for _, s := range knownStatuses()[1:] {
		result := Result{Status: s, Message: "because", WaitMillis: 5, Moved: Moved{ShardID: 1}}
		err := fmt.Errorf("acquire: %w", result.Err())
		matches := 0
		for _, sentinel := range sentinels {
			if errors.Is(err, sentinel) {
				matches++
				if !strings.Contains(sentinel.Error(), s.String()) {
					t.Errorf("an error of status %s is %v", s, sentinel)
				}
			}
		}
		if matches != 1 {
			t.Errorf("an error of status %s is %d sentinels, want 1", s, matches)
		}
	}
	if err := (&Result{}).Err(); err != nil {
		t.Errorf("a success is the error %v", err)
	}
}

func TestAnErrorIsNotAnotherErrorOfItsStatus(t *testing.T) {
	one := &Error{Status: StatusNotFound, Message: "no node"}
	other := &Error{Status: StatusNotFound, Message: "no semaphore"}
	if errors.Is(one, other) {
		t.Errorf("%v is %v", one, other)
	}
}

func TestErrorsSayWhatTheHostSaid(t *testing.T) {
	for _, c := range []struct {
		result Result
		text   string
		retry  Retry
	}{
		{Result{Status: StatusNotFound}, "NOT_FOUND", RetryNever},
		{Result{Status: StatusStale, Message: "number 3"}, "STALE: number 3", RetryNewSequence},
		{Result{Status: StatusUnavailable}, "UNAVAILABLE", RetrySame},
		{Result{Status: StatusHeartbeatTimeout}, "HEARTBEAT_TIMEOUT", RetrySame},
		{Result{Status: StatusOverloaded, Message: "queue full", WaitMillis: 250},
			"OVERLOADED: queue full (try again in 250ms)", RetryLater},
		{Result{Status: StatusStorageFull}, "STORAGE_FULL", RetryLater},
		{Result{Status: StatusQuotaExceeded, Message: "node bytes"}, "QUOTA_EXCEEDED: node bytes", RetryNever},
		{
			Result{Status: StatusMoved, Moved: Moved{ShardID: 2, LeaderHostID: 5, LeaderAddress: "10.0.0.5:7400"}},
			"MOVED (shard 2 is led by host 5 at 10.0.0.5:7400)", RetryElsewhere,
		},
		{Result{Status: StatusAborted, Reason: AbortReplaced}, "ABORTED (REPLACED)", RetryNever},
		{Result{Status: 200}, "STATUS_200", RetryNever},
		{Result{Status: StatusOverloaded, WaitMillis: 1<<64 - 1}, "OVERLOADED (try again in 24h0m0s)", RetryLater},
	} {
		var err *Error
		if !errors.As(c.result.Err(), &err) || err.Error() != c.text || err.Retry() != c.retry {
			t.Errorf("got %v, retry %v; want %s, retry %v", err, err.Retry(), c.text, c.retry)
		}
		if err.Wait < 0 || err.Wait > 24*time.Hour {
			t.Errorf("%s: wait %v", c.text, err.Wait)
		}
	}
}

// TestMessagesAreMadeFitForTheWire: text quoted from a request must not make the answer unreadable.
func TestMessagesAreMadeFitForTheWire(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"no semaphore \xff\xfe here", "no semaphore \uFFFD here"},
		{strings.Repeat("x", MaxMessageBytes+1), strings.Repeat("x", MaxMessageBytes)},
		{strings.Repeat("語", 400), strings.Repeat("語", MaxMessageBytes/3)},
	} {
		s := failure(1, KindAcquire, Result{Status: StatusBadRequest, Message: c.in})
		got, err := decodeSample(s.kind, s.payload())
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
		} else if got.result.Message != c.want {
			t.Errorf("got %q, want %q", got.result.Message, c.want)
		}
	}
}

func TestNamesOfSmallNumbers(t *testing.T) {
	for _, c := range []struct {
		got  fmt.Stringer
		want string
	}{
		{EndExpired, "EXPIRED"}, {EndReason(200), "END_REASON_200"},
		{AbortDeleted, "DELETED"}, {AbortReason(200), "ABORT_REASON_200"},
		{ConsistencyStrict, "STRICT"}, {Consistency(200), "CONSISTENCY_200"},
		{CountersDetailed, "DETAILED"}, {CountersMode(200), "COUNTERS_MODE_200"},
		{HostExpelled, "EXPELLED"},
		{Queued, "QUEUED"}, {AcquireOutcome(200), "ACQUIRE_OUTCOME_200"},
		{ExistenceDeleted, "DELETED"}, {Existence(200), "EXISTENCE_200"},
		{RetryElsewhere, "ELSEWHERE"}, {Retry(200), "RETRY_200"},
		{KindHello.Answer(), "WELCOME"}, {KindPing.Answer(), "PONG"},
		{KindAcquire.Answer(), "ACQUIRE_ANSWER"}, {Kind(0), "KIND_0"}, {Kind(255), "KIND_255"},
	} {
		if c.got.String() != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}
