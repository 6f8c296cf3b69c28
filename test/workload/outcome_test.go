package workload

import (
	"errors"
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

func TestErrorsAreOutcomes(t *testing.T) {
	for err, want := range map[error]history.Outcome{
		nil:                          history.Done,
		client.ErrNotAcquired:        history.NotAcquired,
		client.ErrNotFound:           history.NotFound,
		client.ErrAlreadyExists:      history.Exists,
		client.ErrPreconditionFailed: history.Refused,
		client.ErrQuotaExceeded:      history.OverQuota,
		client.ErrFenced:             history.Fenced,
		client.ErrSessionExpired:     history.Unknown,
		client.ErrUnavailable:        history.Unknown,
		errors.New("anything else"):  history.Unknown,
	} {
		if err != nil {
			err = fmt.Errorf("release lock: %w", err)
		}
		if is, text := OutcomeOf(err); is != want || (text == "") != (err == nil) {
			t.Errorf("%v says %q, %q, want %q", err, is, text, want)
		}
	}
}

// TestADescriptionOfNothingIsAState: a description of a missing semaphore is an answer; a failed description is not.
func TestADescriptionOfNothingIsAState(t *testing.T) {
	if s, is, _ := StateOf(nil, fmt.Errorf("describe lock: %w", client.ErrNotFound)); s == nil || s.Exists ||
		is != history.Done {
		t.Errorf("what is not there is described as %+v, %s", s, is)
	}
	if s, is, text := StateOf(nil, client.ErrUnavailable); s != nil || is != history.Unknown || text == "" {
		t.Errorf("what could not be described is %+v, %s, %q", s, is, text)
	}
}
